import { link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { openCsvWriter, openJsonlWriter } from './index.ts';
import { failure, StagingFolder } from './staging.test-support.ts';

const folder = new StagingFolder();
const out = () => join(folder.path, 'out.csv');

describe('openCsvWriter', () => {
  verifies('FILE-OUT-1', 'writes headers as they are spelled, objects as JSON, null as nothing', async () => {
    const writer = await openCsvWriter(out(), { header: ['Name', 'Name', '', 'found'] });
    await writer.write([
      ['a,b', 'say "x"', 'l1\nl2\r', { k: [1, 'é'] }],
      [null, undefined, '', true],
      [0, -1.5, 12n, []],
      ['007'],
    ]);
    expect(await writer.close()).toEqual({ path: out(), rows: 4, inertCells: 0 });
    expect(await readFile(out(), 'utf8')).toBe(
      'Name,Name,,found\n"a,b","say ""x""","l1\nl2\r","{""k"":[1,""é""]}"\n,,,true\n0,-1.5,12,[]\n007,,,\n',
    );
  });

  verifies('FILE-OUT-3', '--excel writes a mark and makes cells inert, and counts them', async () => {
    const writer = await openCsvWriter(out(), { header: ['=h', 'v'], excel: true });
    const cells = ['=1+1', '+49 151', '-2', '@x', '\tx', '\rx', 'a=b', -2, '＝1', ''];
    await writer.write(cells.map((cell) => ['x', cell]));
    expect((await writer.close()).inertCells).toBe(8);
    const lines = (await readFile(out(), 'utf8')).split('\n');
    expect(lines.slice(0, 6)).toEqual(["\uFEFF'=h,v", "x,'=1+1", "x,'+49 151", "x,'-2", "x,'@x", "x,'\tx"]);
    expect(lines.slice(6, 11)).toEqual(['x,"\'\rx"', 'x,a=b', 'x,-2', "x,'＝1", 'x,']);
  });

  it('leaves formulas alone without --excel', async () => {
    const writer = await openCsvWriter(out(), { header: ['v'] });
    await writer.write([['=1+1']]);
    await writer.close();
    expect(await readFile(out(), 'utf8')).toBe('v\n=1+1\n');
  });

  verifies('FILE-OUT-4', 'appears whole or not at all, and replaces what was there only at the end', async () => {
    await writeFile(out(), 'old', { mode: 0o640 });
    const writer = await openCsvWriter(out(), { header: ['v'] });
    await writer.write(Array.from({ length: 100_000 }, (_, i) => [`value ${i}`]));
    expect(await readFile(out(), 'utf8')).toBe('old');
    await writer.abort();
    await writer.abort();
    expect(await readdir(folder.path)).toEqual(['out.csv']);
    const second = await openCsvWriter(out(), { header: ['v'] });
    await second.close();
    await second.abort();
    expect(await readFile(out(), 'utf8')).toBe('v\n');
    expect((await stat(out())).mode & 0o777).toBe(0o640);
    expect(await readdir(folder.path)).toEqual(['out.csv']);
  });

  it('is readable by its owner only', async () => {
    await (await openCsvWriter(out(), { header: ['v'] })).close();
    expect((await stat(out())).mode & 0o777).toBe(0o600);
  });

  it('writes through a link', async () => {
    await writeFile(join(folder.path, 'real.csv'), 'old');
    await symlink(join(folder.path, 'real.csv'), out());
    await (await openCsvWriter(out(), { header: ['v'] })).close();
    expect(await readFile(join(folder.path, 'real.csv'), 'utf8')).toBe('v\n');
  });

  verifies('FILE-OUT-4', 'OUTPUT_IS_INPUT by path, link, hard link, and for an input that is gone', async () => {
    const input = join(folder.path, 'in.csv');
    await writeFile(input, 'a\n1\n');
    await symlink(input, join(folder.path, 'soft.csv'));
    await link(input, join(folder.path, 'hard.csv'));
    await mkdir(join(folder.path, 'sub'));
    for (const [path, inputs] of [
      [input, [input]],
      [join(folder.path, 'sub', '..', 'in.csv'), [input]],
      [join(folder.path, 'soft.csv'), ['/nowhere/x.csv', input]],
      [input, [join(folder.path, 'soft.csv')]],
      [join(folder.path, 'hard.csv'), [input]],
      [join(folder.path, 'gone.csv'), [join(folder.path, 'gone.csv')]],
    ] as const) {
      const error = await failure(openCsvWriter(path, { header: ['v'], inputPaths: inputs }));
      expect(error.code).toBe('OUTPUT_IS_INPUT');
    }
    expect(await readFile(input, 'utf8')).toBe('a\n1\n');
    expect((await readdir(folder.path)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await (await openCsvWriter(out(), { header: ['v'], inputPaths: [input] })).close();
  });

  it('OUTPUT_FOLDER_MISSING says how to make it', async () => {
    const error = await failure(openCsvWriter(join(folder.path, 'no', 'x.csv'), { header: ['v'] }));
    expect(error.code).toBe('OUTPUT_FOLDER_MISSING');
    expect(error.next[0]).toContain('mkdir -p');
    await writeFile(out(), '');
    expect((await failure(openCsvWriter(join(out(), 'x.csv'), { header: ['v'] }))).code).toBe('OUTPUT_FOLDER_MISSING');
  });

  it('OUTPUT_NOT_WRITABLE for a folder, a device and a file system that refuses', async () => {
    for (const path of [folder.path, '/dev/null', '/proc/callsheet.csv']) {
      expect((await failure(openCsvWriter(path, { header: ['v'] }))).code).toBe('OUTPUT_NOT_WRITABLE');
    }
  });

  it('OUTPUT_NOT_WRITABLE when the file cannot be put in its place', async () => {
    const writer = await openCsvWriter(out(), { header: ['v'] });
    await mkdir(join(out(), 'in-the-way'), { recursive: true });
    expect((await failure(writer.close())).code).toBe('OUTPUT_NOT_WRITABLE');
    expect(await readdir(folder.path)).toEqual(['out.csv']);
  });

  it('refuses rows that are too wide and writes after the end', async () => {
    const writer = await openCsvWriter(out(), { header: ['v'] });
    expect((await failure(writer.write([['a', 'b']]))).code).toBe('INTERNAL');
    await writer.close();
    expect((await failure(writer.write([['a']]))).code).toBe('INTERNAL');
    expect((await failure(writer.close())).code).toBe('INTERNAL');
  });
});

describe('openJsonlWriter', () => {
  verifies('FILE-OUT-4', 'writes one object a line, whole or not at all', async () => {
    const path = join(folder.path, 'out.jsonl');
    const aborted = await openJsonlWriter(path);
    await aborted.write([{ a: 1 }]);
    await aborted.abort();
    expect(await readdir(folder.path)).toEqual([]);
    const writer = await openJsonlWriter(path);
    await writer.write([{ a: 'x\ny' }, { b: [null] }]);
    await writer.write(Array.from({ length: 50_000 }, () => ({ c: 'long enough to be flushed' })));
    expect(await writer.close()).toEqual({ path, rows: 50_002, inertCells: 0 });
    const lines = (await readFile(path, 'utf8')).split('\n');
    expect(lines.slice(0, 2)).toEqual(['{"a":"x\\ny"}', '{"b":[null]}']);
    expect(lines.length).toBe(50_003);
    expect((await failure(openJsonlWriter(path, { inputPaths: [path] }))).code).toBe('OUTPUT_IS_INPUT');
  });
});
