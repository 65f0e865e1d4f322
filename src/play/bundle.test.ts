import { cpSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { hexDigest } from '../scope/index.ts';
import { bundleModule, installSdk, stopBundler } from './index.ts';
import { folderWith, rejection } from './temp-folder.test-support.ts';

afterAll(() => stopBundler());

const PLAY = `
import { definePlay, type PlayCtx } from 'callsheet';
import { isProviderUnavailable } from 'deepline';
import settings from './settings.json' with { type: 'json' };
import { readFileSync } from 'node:fs';
import { greet } from './lib/greet';
export default definePlay('x', async (ctx: PlayCtx) => ({ a: greet(settings.name), b: isProviderUnavailable(1), c: typeof readFileSync }));
`;
const FILES = {
  'x.play.ts': PLAY,
  'settings.json': '{"name":"Ada"}',
  'lib/greet.ts': "export const greet = (name: string): string => 'hello ' + name;",
};

describe('what goes in', () => {
  verifies('PLAY-BUNDLE-1', 'takes local files and JSON in, leaves Node and the SDK out', async () => {
    const bundle = await bundleModule(path.join(folderWith(FILES), 'x.play.ts'));
    expect(bundle.inputs).toEqual(['lib/greet.ts', 'settings.json', 'x.play.ts']);
    expect(bundle.code).toMatch(/from "node:fs"/);
    expect(bundle.code).not.toMatch(/from "(callsheet|deepline)"/);
    expect(bundle.hash).toBe(`sha256-${hexDigest(bundle.code)}`);
    expect(bundle.code).not.toContain('sourceMappingURL');
    expect(JSON.parse(bundle.map).sources).toContain('lib/greet.ts');
  });

  it('names of the SDK that a play does not use are not in its code', async () => {
    const bundle = await bundleModule(path.join(folderWith(FILES), 'x.play.ts'));
    expect(bundle.code).toContain('take("definePlay")');
    expect(bundle.code).not.toContain('defineTool');
  });

  it('takes packages of a node_modules beside the play in, CommonJS ones that require Node too', async () => {
    const folder = folderWith({
      'x.play.ts': `import { now } from 'old'; import { definePlay } from 'callsheet'; export default definePlay(now(), async () => ({}));`,
      'node_modules/old/package.json': '{"name":"old","main":"index.js"}',
      'node_modules/old/index.js': `const { sep } = require('path'); exports.now = () => 'sep ' + sep;`,
    });
    const bundle = await bundleModule(path.join(folder, 'x.play.ts'));
    expect(bundle.inputs).toEqual(['node_modules/old/index.js', 'x.play.ts']);
    const file = path.join(folderWith({ 'a.mjs': bundle.code }), 'a.mjs');
    await expect(import(`${file}?alone`)).rejects.toThrow('only Callsheet can run it');
    installSdk();
    const exports = await import(file);
    expect(exports.default.name).toBe('sep /');
  });
});

describe('the hash', () => {
  verifies('PLAY-BUNDLE-2', 'does not depend on where the folder lies', async () => {
    const here = folderWith(FILES);
    const there = path.join(folderWith({}), 'quite/another place');
    cpSync(here, there, { recursive: true });
    const one = await bundleModule(path.join(here, 'x.play.ts'));
    const two = await bundleModule(path.join(there, 'x.play.ts'));
    expect(two.hash).toBe(one.hash);
    for (const text of [one.code, one.map]) expect(text).not.toContain(here);
  });

  it('does not depend on a link to the folder, nor on a tsconfig or package.json above it', async () => {
    const base = folderWith({
      ...Object.fromEntries(Object.entries(FILES).map(([name, text]) => [`real/${name}`, text])),
    });
    const before = await bundleModule(path.join(base, 'real/x.play.ts'));
    symlinkSync(path.join(base, 'real'), path.join(base, 'link'));
    writeFileSync(path.join(base, 'tsconfig.json'), '{"compilerOptions":{"target":"es5","verbatimModuleSyntax":true}}');
    writeFileSync(path.join(base, 'package.json'), '{"type":"commonjs"}');
    const after = await bundleModule(path.join(base, 'link/x.play.ts'));
    expect(after.hash).toBe(before.hash);
  });

  it('changes with the code and not with its comments or types', async () => {
    const folder = folderWith(FILES);
    const file = path.join(folder, 'x.play.ts');
    const one = await bundleModule(file);
    writeFileSync(file, `// a remark\ntype Unused = string;\n${PLAY}`);
    expect((await bundleModule(file)).hash).toBe(one.hash);
    writeFileSync(file, PLAY.replace("'x'", "'y'"));
    expect((await bundleModule(file)).hash).not.toBe(one.hash);
  });

  it('holds when the root is a folder above the play', async () => {
    const folder = folderWith({
      'plays/x.play.ts': `export { a } from '../lib/a.ts';`,
      'lib/a.ts': 'export const a = 1;',
    });
    const bundle = await bundleModule(path.join(folder, 'plays/x.play.ts'), { root: folder });
    expect(bundle.entry).toBe('plays/x.play.ts');
    expect(bundle.inputs).toEqual(['lib/a.ts', 'plays/x.play.ts']);
    mkdirSync(path.join(folder, 'moved'));
    renameSync(path.join(folder, 'plays'), path.join(folder, 'moved/plays'));
    renameSync(path.join(folder, 'lib'), path.join(folder, 'moved/lib'));
    const moved = await bundleModule(path.join(folder, 'moved/plays/x.play.ts'), { root: path.join(folder, 'moved') });
    expect(moved.hash).toBe(bundle.hash);
  });
});

describe('PLAY_SYNTAX', () => {
  const refusal = async (files: Record<string, string>) => {
    const folder = folderWith(files);
    return { folder, error: await rejection(bundleModule(path.join(folder, 'x.play.ts'))) };
  };

  verifies('PLAY-SYNTAX-1', 'tells file, line, column (in characters) and the line', async () => {
    const { folder, error } = await refusal({
      'x.play.ts': `import './b.ts';`,
      'b.ts': "\nconst é = 'ü' const b = 1;\n",
    });
    expect(error.code).toBe('PLAY_SYNTAX');
    expect(error.details).toMatchObject({
      file: path.join(folder, 'b.ts'),
      line: 2,
      column: 15,
      lineText: "const é = 'ü' const b = 1;",
    });
    expect(error.message).toContain(`${path.join(folder, 'b.ts')}:2:15: Expected ";" but found "const"`);
    expect(error.message).toContain("const é = 'ü' const b = 1;");
  });

  it('tells which local import leads nowhere', async () => {
    const { error } = await refusal({ 'x.play.ts': `import { a } from './gone.ts'; console.log(a)` });
    expect(error).toMatchObject({ code: 'PLAY_SYNTAX', details: { line: 1, column: 19 } });
    expect(error.next[0]).toContain('./gone.ts');
  });

  it('tells how to get a package that is not there', async () => {
    const { error } = await refusal({
      'x.play.ts': `import { a } from '@scope/left/part'; import b from 'right/part'; console.log(a, b)`,
    });
    expect(error.message).toContain('(and 1 more)');
    expect(error.next[0]).toMatch(/^npm install @scope\/left /);
    expect(error.details.errors).toHaveLength(2);
  });

  it('names an import that the SDK does not have, and the nearest that it has', async () => {
    const { error } = await refusal({ 'x.play.ts': `import { definePlays } from 'deepline'; definePlays();` });
    expect(error.code).toBe('PLAY_SYNTAX');
    expect(error.message).toContain("callsheet exports no 'definePlays'. Did you mean 'definePlay'");
    expect(
      (await refusal({ 'x.play.ts': `import { zzzzqqqq } from 'callsheet'; zzzzqqqq();` })).error.message,
    ).not.toContain('Did you mean');
    expect((await refusal({ 'x.play.ts': `import it from 'callsheet'; it();` })).error.message).toContain(
      "no 'default'",
    );
  });

  it('has no submodules of callsheet', async () => {
    const { error } = await refusal({ 'x.play.ts': `import { a } from 'callsheet/internals'; a();` });
    expect(error.next[0]).toContain("Import from 'callsheet' itself");
  });

  it('can be reported under another code, and keeps warnings', async () => {
    const folder = folderWith({ 'c.ts': 'const', 'd.ts': 'export const a = { b: 1, b: 2 };' });
    expect((await rejection(bundleModule(path.join(folder, 'c.ts'), { code: 'CONFIG_INVALID' }))).code).toBe(
      'CONFIG_INVALID',
    );
    const { warnings } = await bundleModule(path.join(folder, 'd.ts'));
    expect(warnings).toMatchObject([{ file: path.join(folder, 'd.ts'), line: 1 }]);
  });
});
