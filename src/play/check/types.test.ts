import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkPlay, stopBundler } from '../index.ts';
import { folderWith } from '../temp-folder.test-support.ts';
import { body, LIB, WATERFALL } from './plays.test-support.ts';

afterAll(() => stopBundler());

describe('types', () => {
  const typed = (statements: string, extra: Record<string, string> = {}) => {
    const folder = folderWith({ 'x.play.ts': body(statements), ...extra });
    mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
    symlinkSync(path.resolve('node_modules/typescript'), path.join(folder, 'node_modules/typescript'));
    return checkPlay(path.join(folder, 'x.play.ts'));
  };

  it('are checked with the TypeScript of the folder, against the SDK that runs', async () => {
    const checked = await typed(
      `const rows = await ctx.csv(input.csv);\nconst n: string = await rows.count();\nprocess.cwd();`,
    );
    expect(checked.types).toMatchObject({ checked: true, typescript: expect.stringMatching(/^\d/) });
    expect(checked.findings).toMatchObject([
      { code: 'TYPE_ERROR', line: 4, file: expect.stringMatching(/^\/.*x\.play\.ts$/) },
    ]);
    expect(checked.findings[0]?.message).toContain("TS2322: Type 'number' is not assignable to type 'string'");
  }, 120_000);

  it("find nothing wrong with a play that uses the whole surface, Node's types beside it", async () => {
    const folder = folderWith({
      'x.play.ts': WATERFALL,
      'lib.ts': LIB,
      'tsconfig.json': '{"compilerOptions":{"strict":false}}',
    });
    mkdirSync(path.join(folder, 'node_modules/@types'), { recursive: true });
    for (const name of ['typescript', '@types/node', 'undici-types'])
      symlinkSync(path.resolve('node_modules', name), path.join(folder, 'node_modules', name));
    const { findings, types } = await checkPlay(path.join(folder, 'x.play.ts'));
    expect(types.checked).toBe(true);
    expect(findings).toEqual([]);
  }, 120_000);

  it('are skipped, and it says why, where there is no TypeScript, or none that can be used', async () => {
    const without = await checkPlay(path.join(folderWith({ 'x.play.ts': body('') }), 'x.play.ts'));
    expect(without.types).toMatchObject({ checked: false, why: expect.stringContaining('no TypeScript is installed') });
    expect(
      (await checkPlay(path.join(folderWith({ 'x.play.ts': body('') }), 'x.play.ts'), { types: false })).types.why,
    ).toBe('left out');
    const folder = folderWith({
      'x.play.js': `import { definePlay } from 'callsheet';\nexport default definePlay('a', () => 1);`,
    });
    expect((await checkPlay(path.join(folder, 'x.play.js'))).types.why).toContain('not TypeScript');
    const fake = folderWith({
      'x.play.ts': body(''),
      'node_modules/typescript/index.js': `exports.version = '7.0.0';`,
    });
    writeFileSync(path.join(fake, 'node_modules/typescript/package.json'), '{"main":"index.js"}');
    expect((await checkPlay(path.join(fake, 'x.play.ts'))).types.why).toContain('7.0.0');
  });
});
