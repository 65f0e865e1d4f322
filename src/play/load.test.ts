import { spawnSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import * as sdk from '../sdk/index.ts';
import { loadModule, loadPlay, mapStack } from './index.ts';
import { folderWith, rejection } from './temp-folder.test-support.ts';

const play = (name: string, more = '') => `definePlay('${name}', async (ctx, input) => ({ ok: true })${more})`;
const HEAD = `import { definePlay } from 'callsheet';\n`;

const load = (files: Record<string, string>, spec = 'x.play.ts') => {
  const folder = folderWith(files);
  return { folder, loaded: loadPlay(path.join(folder, spec)) };
};

describe('the play that is meant', () => {
  it('is the only one, default or named', async () => {
    const one = await load({ 'x.play.ts': `${HEAD}export default ${play('a')};` }).loaded;
    expect([one.exportName, one.play.name]).toEqual(['default', 'a']);
    expect(sdk.isPlay(one.play)).toBe(true);
    const two = await load({ 'x.play.ts': `${HEAD}export const b = ${play('b')}; export const other = 1;` }).loaded;
    expect([two.exportName, two.play.name]).toEqual(['b', 'b']);
  });

  it('counts once where it is exported twice, and answers to both names', async () => {
    const files = { 'x.play.ts': `${HEAD}export const b = ${play('b')}; export default b;` };
    expect(await load(files).loaded).toMatchObject({ exportName: 'b' });
    expect(await load(files, 'x.play.ts#default').loaded).toMatchObject({ exportName: 'b' });
  });

  verifies('PLAY-EXPORTS-1', 'is named by export, or by its own name', async () => {
    const files = { 'x.play.ts': `${HEAD}export const b = ${play('bee')}; export default ${play('dee')};` };
    const byExport = await load(files, 'x.play.ts#b').loaded;
    expect([byExport.play.name, byExport.plays.length]).toEqual(['bee', 2]);
    expect(await load(files, 'x.play.ts#dee').loaded).toMatchObject({ exportName: 'default' });
  });

  verifies('PLAY-EXPORTS-1', 'is never guessed: PLAY_AMBIGUOUS lists them all', async () => {
    const { folder, loaded } = load({
      'x.play.ts': `${HEAD}export const b = ${play('b')}; export default ${play('d')};`,
    });
    const error = await rejection(loaded);
    const file = path.join(folder, 'x.play.ts');
    expect(error).toMatchObject({ code: 'PLAY_AMBIGUOUS', details: { plays: [`${file}#b`, `${file}#default`] } });
    expect(error.message).toContain(`${file}#b, ${file}#default`);
  });

  it('PLAY_EXPORT_NOT_FOUND lists what there is', async () => {
    const files = { 'x.play.ts': `${HEAD}export const enrich = ${play('b')}; export const size = 3;` };
    const error = await rejection(load(files, 'x.play.ts#enrch').loaded);
    expect(error.code).toBe('PLAY_EXPORT_NOT_FOUND');
    expect(error.message).toContain("Did you mean 'enrich'");
    expect(error.next[0]).toMatch(/x\.play\.ts#enrich$/);
    expect((await rejection(load(files, 'x.play.ts#size').loaded)).message).toContain(
      "'size' is exported, but is no play",
    );
  });

  it('PLAY_MISSING says what the file exports instead', async () => {
    const error = await rejection(load({ 'x.play.ts': 'export const a = 1; export default async () => {};' }).loaded);
    expect(error).toMatchObject({ code: 'PLAY_MISSING', details: { exports: ['a', 'default'] } });
    expect((await rejection(load({ 'x.play.ts': '' }).loaded)).message).toContain('it exports nothing');
  });

  it('a file whose name has a # in it is found', async () => {
    expect(
      await load({ 'a#b.play.ts': `${HEAD}export default ${play('a')};` }, 'a#b.play.ts#default').loaded,
    ).toMatchObject({ exportName: 'default' });
  });
});

describe('PLAY_FILE_NOT_FOUND', () => {
  it('names the nearest files, or else the plays of the folder', async () => {
    const files = { 'emails.play.ts': '', 'phones.play.ts': '', 'notes.md': '' };
    const { folder, loaded } = load(files, 'email.play.ts');
    const error = await rejection(loaded);
    expect(error.code).toBe('PLAY_FILE_NOT_FOUND');
    expect(error.message).toContain(`Did you mean '${path.join(folder, 'emails.play.ts')}'`);
    const other = await rejection(load(files, 'zzzzzzzzzzzzzzzzzzzz.ts#x').loaded);
    expect((other.details.nearest as string[]).map((name) => path.basename(name))).toEqual([
      'emails.play.ts',
      'phones.play.ts',
    ]);
  });

  it('also where the folder is missing, or the name is a folder', async () => {
    const folder = folderWith({ 'plays/x.play.ts': '' });
    expect((await rejection(loadPlay(path.join(folder, 'gone/x.play.ts')))).code).toBe('PLAY_FILE_NOT_FOUND');
    expect((await rejection(loadPlay(path.join(folder, 'plays')))).code).toBe('PLAY_FILE_NOT_FOUND');
  });
});

describe('a file that throws while it is loaded', () => {
  it('PLAY_LOAD_FAILED names the line in the author’s file', async () => {
    const { folder, loaded } = load({
      'x.play.ts': `${HEAD}import { boom } from './b.ts';\n\nboom();\nexport default ${play('a')};`,
      'b.ts': `interface Long {\n  a: string;\n}\nexport function boom(): Long {\n  throw new RangeError('no luck');\n}\n`,
    });
    const error = await rejection(loaded);
    expect(error.code).toBe('PLAY_LOAD_FAILED');
    expect(error.details).toMatchObject({ file: path.join(folder, 'b.ts'), line: 5 });
    expect(error.message).toContain('RangeError: no luck');
    expect(error.details.stack).toContain(`${path.join(folder, 'x.play.ts')}:4`);
  });

  it('also for what is no error', async () => {
    expect(await rejection(load({ 'x.play.ts': `throw 'text';` }).loaded)).toMatchObject({ code: 'PLAY_LOAD_FAILED' });
  });

  it('keeps the code of what definePlay refuses, and adds the place', async () => {
    const { folder, loaded } = load({ 'x.play.ts': `${HEAD}\nexport default definePlay('', async () => ({}));` });
    const error = await rejection(loaded);
    expect(error.code).toBe('PLAY_DEFINITION_INVALID');
    expect(error.message).toContain(`${path.join(folder, 'x.play.ts')}:3`);
    expect(error.next).toHaveLength(1);
  });
});

describe('errors of a running play', () => {
  verifies('PLAY-BUNDLE-3', 'are the SDK’s own classes, and their stacks map to the author’s lines', async () => {
    const { folder, loaded } = load({
      'x.play.ts': `import { definePlay, CallsheetError } from 'deepline';\n\nexport default definePlay('a', async () => {\n  throw new CallsheetError('PLAY_THREW', 'x');\n});`,
    });
    const failure = await rejection(Promise.resolve((await loaded).play(undefined as never, {})));
    expect((failure as unknown as Error).constructor).toBe(sdk.CallsheetError);
    const stack = mapStack((failure as unknown as Error).stack ?? '');
    expect(stack).toContain(`${path.join(folder, 'x.play.ts')}:4:9`);
    expect(mapStack('Error: x\n    at elsewhere (/a/b.js:1:2)')).toBe('Error: x\n    at elsewhere (/a/b.js:1:2)');
  });
});

describe('loading again', () => {
  it('gives the same module for the same bytes and a fresh one for changed bytes', async () => {
    const folder = folderWith({ 'x.play.ts': `${HEAD}export default ${play('a')};` });
    const file = path.join(folder, 'x.play.ts');
    const one = await loadPlay(file);
    expect((await loadPlay(file)).play).toBe(one.play);
    writeFileSync(file, `${HEAD}export default ${play('b')};`);
    expect((await loadPlay(file)).play.name).toBe('b');
  });

  it('keeps code under its hash in the given folder, for its user only', async () => {
    const folder = folderWith({ 'x.play.ts': `${HEAD}export default ${play('a')};` });
    const cacheDir = path.join(folder, 'cache');
    const { artifact } = await loadPlay(path.join(folder, 'x.play.ts'), { cacheDir });
    await loadPlay(path.join(folder, 'x.play.ts'), { cacheDir });
    expect(readdirSync(cacheDir)).toEqual([`${artifact.hash}.mjs`]);
    expect(statSync(path.join(cacheDir, `${artifact.hash}.mjs`)).mode & 0o777).toBe(0o600);
  });
});

describe('config and tool files', () => {
  const config = { code: 'CONFIG_INVALID', label: 'config file' } as const;

  verifies('PLAY-MODULES-1', 'load in any folder, as TypeScript, JavaScript and JSON', async () => {
    const folder = folderWith({
      'callsheet.config.ts': `import { defineConfig, type CallsheetConfig } from 'callsheet';\nconst c: CallsheetConfig = { confirmAbove: 7 };\nexport default defineConfig(c);`,
      'b.js': `import { defineConfig } from 'deepline'; export default defineConfig({ confirmAbove: 8 });`,
      'c.json': `{ "confirmAbove": 9 }`,
      'tools/t.ts': `import { defineTool } from 'callsheet';\nexport const t = defineTool({ id: 'a.b', effect: 'read', input: {}, run: async () => 1 });`,
    });
    const exportsOf = (name: string) => loadModule(path.join(folder, name), config);
    expect((await exportsOf('callsheet.config.ts')).default).toEqual({ confirmAbove: 7 });
    expect((await exportsOf('b.js')).default).toEqual({ confirmAbove: 8 });
    expect((await exportsOf('c.json')).default).toEqual({ confirmAbove: 9 });
    expect(sdk.isTool((await exportsOf('tools/t.ts')).t)).toBe(true);
  });

  it('report what goes wrong under the caller’s code, and tool definitions under their own', async () => {
    const folder = folderWith({
      'syntax.ts': 'export default {',
      'bad.json': '{\n  "a": ,\n}',
      'throws.ts': `throw new Error('x');`,
      'tool.ts': `import { defineTool } from 'callsheet';\nexport const t = defineTool({ id: 'a' });`,
    });
    const errorOf = (name: string) => rejection(loadModule(path.join(folder, name), config));
    expect(await errorOf('syntax.ts')).toMatchObject({ code: 'CONFIG_INVALID', details: { line: 1 } });
    expect(await errorOf('bad.json')).toMatchObject({ code: 'CONFIG_INVALID', details: { line: 2 } });
    expect(await errorOf('throws.ts')).toMatchObject({ code: 'CONFIG_INVALID', details: { line: 1 } });
    expect(await errorOf('gone.ts')).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await errorOf('tool.ts')).toMatchObject({
      code: 'TOOL_DEFINITION_INVALID',
      details: { tool: 'a', line: 2 },
    });
  });
});

it('works in a plain Node process: stacks are of file URLs there, and the private folder goes with it', () => {
  const folder = folderWith({
    'x.play.ts': `${HEAD}\nexport default definePlay('a', async () => {\n  throw new Error('deep');\n});`,
    'run.mjs': `
      import { loadPlay, mapStack, stopBundler } from ${JSON.stringify(path.resolve('src/play/index.ts'))};
      const { play } = await loadPlay('x.play.ts');
      await play().catch((error) => console.log(mapStack(error.stack)));
      await loadPlay('link.play.ts').catch((error) => console.log(error.code, error.message));
      await stopBundler();`,
    'link.play.ts': `import { nope } from 'node:fs';\nexport default nope;`,
  });
  const tmp = path.join(folder, 'tmp');
  writeFileSync(path.join(folder, 'package.json'), '{}');
  const made = spawnSync('mkdir', [tmp]);
  expect(made.status).toBe(0);
  const done = spawnSync(process.execPath, ['run.mjs'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: tmp, NODE_OPTIONS: '' },
  });
  expect(done.stderr.replace(/\(node:.*\n?|.*ExperimentalWarning.*\n?|.*--trace-warnings.*\n?/g, '')).toBe('');
  expect(done.stdout).toContain('at x.play.ts:4:9');
  expect(done.stdout).toMatch(/PLAY_LOAD_FAILED link\.play\.ts:1.*nope/);
  expect(readdirSync(tmp)).toEqual([]);
});
