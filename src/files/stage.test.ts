import { mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { openStaged, readStaged, stageFile } from './index.ts';
import { failure, StagingFolder } from './staging.test-support.ts';

const folder = new StagingFolder();

describe('files that are refused', () => {
  verifies('FILE-EMPTY-1', 'FILE_EMPTY for nothing, blank lines and a byte order mark', async () => {
    for (const content of ['', '\n\r\n\n', '\uFEFF'])
      for (const name of ['x.csv', 'x.jsonl'])
        expect((await failure(folder.stage(content, {}, name))).code).toBe('FILE_EMPTY');
  });

  verifies('FILE-EMPTY-1', 'FILE_NOT_FOUND names what is near', async () => {
    await writeFile(join(folder.path, 'leads_2026.csv'), 'a\n');
    const error = await failure(stageFile(join(folder.path, 'lead_2026.csv'), { filesDir: folder.files }));
    expect(error.code).toBe('FILE_NOT_FOUND');
    expect(error.next).toEqual([`Did you mean ${join(folder.path, 'leads_2026.csv')}?`]);
    const far = await failure(stageFile(join(folder.path, 'no', 'such', 'x.csv'), { filesDir: folder.files }));
    expect(far.code).toBe('FILE_NOT_FOUND');
    expect(far.next.join()).toContain('cannot be read');
    for (const path of ['', 'a\0b', join(folder.path, 'leads_2026.csv', 'x')]) {
      expect((await failure(stageFile(path, { filesDir: folder.files }))).code).toBe('FILE_NOT_FOUND');
    }
  });

  it('FILE_UNREADABLE for a folder and a device', async () => {
    expect((await failure(stageFile(folder.path, { filesDir: folder.files }))).code).toBe('FILE_UNREADABLE');
    expect((await failure(stageFile('/dev/null', { filesDir: folder.files }))).code).toBe('FILE_UNREADABLE');
  });

  it('FILE_MALFORMED with the line on which an open quote begins', async () => {
    const error = await failure(folder.stage(`a,b\n${'1,2\n'.repeat(30_000)}\n3,"open\n4,5\n`));
    expect(error.code).toBe('FILE_MALFORMED');
    expect(error.message).toContain('never closed');
    expect(error.details.line).toBe(30_003);
  });

  it('FILE_MALFORMED for more columns than any table has', async () => {
    const error = await failure(folder.stage(`a;b\n1;2\n${','.repeat(20_001)}\n`, { delimiter: ',' }));
    expect(error.code).toBe('FILE_MALFORMED');
    expect(error.details.line).toBe(3);
  });

  it('NOT_YET_SUPPORTED for workbooks, Parquet and gzip, whatever their name', async () => {
    for (const magic of [
      [0x50, 0x4b, 3, 4],
      [0xd0, 0xcf, 0x11, 0xe0],
      [0x50, 0x41, 0x52, 0x31],
      [0x1f, 0x8b, 8, 0],
    ]) {
      const error = await failure(folder.stage(Buffer.from([...magic, 1, 2, 3])));
      expect(error.code).toBe('NOT_YET_SUPPORTED');
    }
  });

  it('leaves no half copy behind', async () => {
    await failure(folder.stage('a,b\n3,"open\n'));
    expect(await readdir(folder.files)).toEqual([]);
  });

  it('STORE_READ_ONLY when the copy has no place', async () => {
    await writeFile(join(folder.path, 'blocked'), '');
    expect((await failure(folder.stage('a\n1\n', { filesDir: join(folder.path, 'blocked', 'files') }))).code).toBe(
      'STORE_READ_ONLY',
    );
  });
});

describe('the staged copy', () => {
  verifies('FILE-STAGED-1', 'is private, found again by content and options, and not written twice', async () => {
    const { staged } = await folder.stage('a\n1\n');
    const copy = join(folder.files, staged.digest);
    expect((await stat(folder.files)).mode & 0o777).toBe(0o700);
    expect((await stat(copy)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(copy)) expect((await stat(join(copy, name))).mode & 0o777).toBe(0o600);
    const before = (await stat(join(copy, 'rows.jsonl'))).mtimeMs;
    const again = await folder.stage('a\n1\n', {}, 'other.csv');
    expect(again.staged.digest).toBe(staged.digest);
    expect([again.staged.name, again.staged.sourcePath]).toEqual(['other.csv', join(folder.path, 'other.csv')]);
    expect((await stat(join(copy, 'rows.jsonl'))).mtimeMs).toBe(before);
    const digests = [
      staged,
      (await folder.stage('a\n2\n')).staged,
      (await folder.stage('a\n1\n', { limit: 5 })).staged,
      (await folder.stage('a\n1\n', { delimiter: ';' })).staged,
    ];
    expect(new Set(digests.map((file) => file.digest)).size).toBe(4);
    expect((await readdir(folder.files)).length).toBe(4);
  });

  verifies('FILE-STAGED-1', 'is opened again for a resume', async () => {
    const { staged } = await folder.stage('a,a\n1,2\n');
    expect(await openStaged(folder.files, staged.digest)).toEqual(staged);
    expect(JSON.parse(JSON.stringify(staged))).toEqual(staged);
  });

  it('reads any range', async () => {
    const count = 2000;
    const { staged } = await folder.stage(
      `n,t\n${Array.from({ length: count }, (_, i) => `${i},${'x'.repeat(i % 500)}\n`).join('')}`,
    );
    for (const [from, to] of [
      [0, 1],
      [255, 257],
      [256, 512],
      [300, 1700],
      [1999, 2000],
      [1999, 9999],
      [500, 500],
      [2000, 2001],
    ] as const) {
      const seen: unknown[] = [];
      for await (const chunk of readStaged(staged, { filesDir: folder.files, from, to })) {
        expect(chunk.length).toBeLessThanOrEqual(256);
        seen.push(...chunk.map((row) => row.n));
      }
      expect(seen).toEqual(Array.from({ length: Math.max(0, Math.min(to, count) - from) }, (_, i) => String(from + i)));
    }
  });

  verifies('FILE-STAGED-1', 'does not need the source any more', async () => {
    const { staged } = await folder.stage('a\n1\n');
    await rm(staged.sourcePath);
    const seen: unknown[] = [];
    for await (const chunk of readStaged(staged, { filesDir: folder.files })) seen.push(...chunk);
    expect(seen).toEqual([{ a: '1' }]);
  });

  it('two at once stage one copy', async () => {
    const path = join(folder.path, 'x.csv');
    await writeFile(path, `a\n${'1\n'.repeat(1000)}`);
    const [one, two] = await Promise.all([
      stageFile(path, { filesDir: folder.files }),
      stageFile(path, { filesDir: folder.files }),
    ]);
    expect(one).toEqual(two);
    expect(await readdir(folder.files)).toEqual([one.digest]);
  });

  it('clears away what a killed process left, when it is old', async () => {
    for (const name of ['.staging-old', '.staging-new']) {
      await mkdir(join(folder.files, name), { recursive: true });
      await writeFile(join(folder.files, name, 'rows.jsonl'), '');
    }
    await utimes(join(folder.files, '.staging-old', 'rows.jsonl'), 1000, 1000);
    const { staged } = await folder.stage('a\n1\n');
    expect((await readdir(folder.files)).sort()).toEqual(['.staging-new', staged.digest]);
  });

  it('STAGED_FILE_MISSING when it is gone or damaged', async () => {
    expect((await failure(openStaged(folder.files, '../../etc'))).code).toBe('STAGED_FILE_MISSING');
    expect((await failure(openStaged(folder.files, 'a'.repeat(64)))).code).toBe('STAGED_FILE_MISSING');
    const { staged } = await folder.stage(`a\n${'1\n'.repeat(600)}`);
    const copy = join(folder.files, staged.digest);
    const drain = async () => {
      for await (const chunk of readStaged(staged, { filesDir: folder.files })) expect(chunk.length).toBeGreaterThan(0);
    };
    const whole = await readFile(join(copy, 'rows.jsonl'));
    const offsets = await readFile(join(copy, 'offsets.bin'));
    const meta = await readFile(join(copy, 'meta.json'), 'utf8');
    for (const [name, content] of [
      ['rows.jsonl', whole.subarray(0, 100)],
      ['rows.jsonl', Buffer.from(whole).fill('x', 50, 60)],
      ['rows.jsonl', Buffer.from(whole).fill('x', whole.length - 1)],
      ['rows.jsonl', Buffer.from(whole).fill(' ', whole.length - 7, whole.length - 6)],
      ['offsets.bin', Buffer.alloc(0)],
      ['offsets.bin', Buffer.from(new Float64Array([1e9]).buffer)],
      ['meta.json', Buffer.from('{"edition":1}')],
      ['meta.json', Buffer.from('{')],
      ['meta.json', Buffer.from(meta.replace('"edition":1', '"edition":2'))],
    ] as const) {
      await writeFile(join(copy, name), content);
      expect((await failure(drain())).code).toBe('STAGED_FILE_MISSING');
      await writeFile(join(copy, 'rows.jsonl'), whole);
      await writeFile(join(copy, 'offsets.bin'), offsets);
      await writeFile(join(copy, 'meta.json'), meta);
    }
    await rm(join(copy, 'rows.jsonl'));
    expect((await failure(drain())).code).toBe('STAGED_FILE_MISSING');
    await drain().catch(() => {});
  });

  it('follows a link to its file', async () => {
    await writeFile(join(folder.path, 'real.csv'), 'a\n1\n');
    await symlink(join(folder.path, 'real.csv'), join(folder.path, 'link.csv'));
    expect((await stageFile(join(folder.path, 'link.csv'), { filesDir: folder.files })).rows).toBe(1);
  });
});
