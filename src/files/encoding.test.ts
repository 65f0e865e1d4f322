import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { describeReport, type Row, readStaged, stageFile } from './index.ts';
import { failure, StagingFolder } from './staging.test-support.ts';

const folder = new StagingFolder();

describe('encodings', () => {
  const text = 'name,city\nJürgen,Köln\n';
  const expected = [{ name: 'Jürgen', city: 'Köln' }];

  verifies('FILE-ENCODING-1', 'reads UTF-8 with and without a byte order mark', async () => {
    const plain = await folder.stage(text);
    expect(plain.rows).toEqual(expected);
    expect(plain.report.encoding).toEqual({ name: 'utf-8', how: 'utf-8' });
    const marked = await folder.stage(`\uFEFF${text}`);
    expect(marked.rows).toEqual(expected);
    expect(marked.report.encoding).toEqual({ name: 'utf-8', how: 'bom' });
    expect((await folder.stage('a\n1\n')).report.encoding).toEqual({ name: 'utf-8', how: 'ascii' });
  });

  verifies('FILE-ENCODING-1', 'reads UTF-16 in both byte orders, with and without a mark', async () => {
    const le = Buffer.from(text, 'utf16le');
    const be = Buffer.from(le).swap16();
    const marked = (mark: number[], bytes: Buffer) => Buffer.concat([Buffer.from(mark), bytes]);
    for (const [bytes, encoding] of [
      [marked([0xff, 0xfe], le), { name: 'utf-16le', how: 'bom' }],
      [marked([0xfe, 0xff], be), { name: 'utf-16be', how: 'bom' }],
      [le, { name: 'utf-16le', how: 'nul-pattern' }],
      [be, { name: 'utf-16be', how: 'nul-pattern' }],
    ] as const) {
      const { rows, report } = await folder.stage(bytes);
      expect(rows).toEqual(expected);
      expect(report.encoding).toEqual(encoding);
      expect(report.nulBytes).toBe(0);
    }
  });

  it('reads UTF-16 without a mark that is not Western', async () => {
    const cjk = 'name,city\n株式会社東京商事営業部,東京都千代田区丸の内\n'.repeat(20);
    const { rows, report } = await folder.stage(Buffer.from(cjk, 'utf16le'));
    expect(report.encoding.name).toBe('utf-16le');
    expect(rows[0]?.city).toBe('東京都千代田区丸の内');
  });

  verifies('FILE-ENCODING-1', 'reads Windows-1252, its curly quotes and euro sign too', async () => {
    const bytes = Buffer.concat([
      Buffer.from('name,price\nRen'),
      Buffer.from([0xe9, 0x92]),
      Buffer.from(',100'),
      Buffer.from([0x80, 10]),
    ]);
    const { rows, report } = await folder.stage(bytes);
    expect(rows).toEqual([{ name: 'René’', price: '100€' }]);
    expect(report.encoding).toMatchObject({ name: 'windows-1252', how: 'detected' });
    expect(describeReport(report)[0]).toContain('windows-1252 (detected');
  });

  it('is not fooled by five megabytes of ASCII before the first Windows-1252 byte', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`name,city\n${`Anna,${'P'.repeat(1000)}\n`.repeat(5000)}`),
      Buffer.from([0x52, 0x65, 0x6e, 0xe9]),
      Buffer.from(',Lyon\n'),
    ]);
    const path = join(folder.path, 'late.csv');
    await writeFile(path, bytes);
    const staged = await stageFile(path, { filesDir: folder.files });
    expect(staged.report.encoding.name).toBe('windows-1252');
    const last: Row[] = [];
    for await (const chunk of readStaged(staged, { filesDir: folder.files, from: 5000 })) last.push(...chunk);
    expect(last).toEqual([{ name: 'René', city: 'Lyon' }]);
  });

  it('keeps UTF-8 characters whole where a read ends inside one', async () => {
    for (const shift of [0, 1, 2, 3]) {
      const cell = `${'x'.repeat(64 * 1024 - 6 + shift)}😀é`;
      const { rows, report } = await folder.stage(`a\n${cell}\n`);
      expect(report.encoding.how).toBe('utf-8');
      expect(rows[0]?.a).toBe(cell);
    }
  });

  it('reads other scripts by detection', async () => {
    const cyrillic = Buffer.from('имя;город\n'.repeat(1) + 'Привет из Москвы;Санкт-Петербург и область\n'.repeat(5));
    const table = new Map<string, number>();
    const decoder = new TextDecoder('windows-1251');
    for (let byte = 0x80; byte < 256; byte++) table.set(decoder.decode(Buffer.from([byte])), byte);
    const bytes = Buffer.from([...cyrillic.toString()].map((char) => table.get(char) ?? char.charCodeAt(0)));
    const { rows, report } = await folder.stage(bytes);
    expect(report.encoding.name).toBe('windows-1251');
    expect(rows[0]).toEqual({ имя: 'Привет из Москвы', город: 'Санкт-Петербург и область' });
  });

  it('does as told by `encoding`', async () => {
    const { rows, report } = await folder.stage(Buffer.from('a\nJ\u00fcrgen\n', 'latin1'), { encoding: 'Latin1' });
    expect(rows).toEqual([{ a: 'Jürgen' }]);
    expect(report.encoding).toEqual({ name: 'windows-1252', how: 'option' });
    const be = Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()]);
    expect((await folder.stage(be, { encoding: 'utf-16' })).rows).toEqual(expected);
  });

  it('warns when a damaged UTF-8 file had to be read as something else', async () => {
    const bytes = Buffer.concat([
      Buffer.from('name\nJürgen Müller\nGrüße aus Köln\n'),
      Buffer.from([0x52, 0xe9, 0x6e, 10]),
    ]);
    const { report } = await folder.stage(bytes);
    expect(report.warnings.join()).toContain('near line 1');
  });

  it('refuses an encoding that does not exist, bytes that do not fit, UTF-32 and binary data', async () => {
    expect((await failure(folder.stage('a\n1\n', { encoding: 'utf-99' }))).code).toBe('USAGE');
    const latin = Buffer.from('a,b\nok,ok\nJ\u00fcrgen,x\n', 'latin1');
    for (const [bytes, options] of [
      [latin, { encoding: 'utf-8' }],
      [Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), latin]), {}],
      [Buffer.from([0x61, 10, 0x81, 0x20, 10]), { encoding: 'shift_jis' }],
      [Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), {}],
      [Buffer.from(Array.from({ length: 4000 }, (_, i) => (i * 7919 + (i >> 3) * 31) % 256)), {}],
    ] as const) {
      const error = await failure(folder.stage(bytes, options));
      expect(error.code).toBe('FILE_UNDECODABLE');
      expect(error.next.join()).toContain('--encoding');
    }
  });
});
