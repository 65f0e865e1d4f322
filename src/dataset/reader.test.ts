import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { mapColumns, type StagedFile, stageFile } from '../files/index.ts';
import type { PlayDataset } from '../sdk/index.ts';
import { createDataset } from './builder.ts';
import { fileDataset } from './file-dataset.ts';
import { type DatasetReader, type DatasetRow, datasetReader } from './reader.ts';
import { type TestRun, testRun } from './test-host.test-support.ts';

type Row = Record<string, unknown>;

let folder = '';
let filesDir = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callsheet-dataset-'));
  filesDir = join(folder, 'files');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function stage(text: string, name = 'leads.csv'): Promise<StagedFile> {
  const path = join(folder, name);
  await writeFile(path, text);
  return await stageFile(path, { filesDir });
}

const PEOPLE =
  'E-mail,Full Name,Zip\nada@a.test,Ada,01234\nbo@b.test,"Doe, Bo",5\nada@a.test,Ada twice,9\ncy@c.test,Cy,7\n';

async function csv(limit: number | null = null): Promise<PlayDataset<Row>> {
  const staged = await stage(PEOPLE);
  const mapping = mapColumns(staged.header, { columns: { email: 'E-mail' }, rename: { 'Full Name': 'name' } });
  return fileDataset<Row>({ staged, mapping, limit, filesDir });
}

async function readerOf(test: TestRun, runNo = 1): Promise<DatasetReader> {
  const frame = (await test.store.reads.frames(runNo)).at(-1);
  if (frame === undefined) throw new Error('no frame');
  return datasetReader({ reads: test.store.reads, filesDir, runNo, frame });
}

async function all(reader: DatasetReader): Promise<DatasetRow[]> {
  const rows: DatasetRow[] = [];
  for await (const piece of reader.rows()) rows.push(...piece);
  return rows;
}

async function run(test: TestRun, items: unknown, options: unknown): Promise<PlayDataset<Row>> {
  const rows = createDataset(test.host, 'people', items)
    .withColumn('greeting', (row) => {
      if ((row as Row).name === 'Cy') throw new Error('no greeting');
      return `Hello ${(row as Row).name}`;
    })
    .run(options as never);
  return (await rows) as PlayDataset<Row>;
}

describe('a dataset over a file', () => {
  verifies('DATA-SOURCES-1', 'is read in place under the code’s names, and nothing is spooled', async () => {
    const test = testRun({ filesDir });
    const source = await csv();
    expect(source.key).toBe('leads.csv');
    expect(await source.count()).toBe(4);
    expect(await source.at(1)).toEqual({ 'E-mail': 'bo@b.test', email: 'bo@b.test', name: 'Doe, Bo', Zip: '5' });
    const rows = await run(test, source, { key: 'email' });
    expect(await rows.count()).toBe(3);
    expect(await rows.at(2)).toMatchObject({ email: 'cy@c.test', Zip: '7', greeting: null });
    expect(test.store.written.some((write) => write.kind === 'spool')).toBe(false);
  });

  verifies('CLI-LIMIT-1', 'takes the first rows of the file only where there is a limit', async () => {
    const limited = await csv(2);
    expect(await limited.count()).toBe(2);
    expect(await limited.materialize()).toHaveLength(2);
    const test = testRun({ filesDir });
    expect(await (await run(test, limited, {})).count()).toBe(2);
  });

  verifies(
    'DATA-COLUMN-2',
    'refuses a column that would hide one of the file, under either name, before a row is read',
    async () => {
      for (const name of ['Zip', 'email', 'name']) {
        const test = testRun({ filesDir });
        const asked = createDataset(test.host, 'people', await csv())
          .withColumn(name, () => 1)
          .run();
        await expect(asked).rejects.toMatchObject({ code: 'COLUMN_HIDES_INPUT' });
      }
    },
  );

  it('refuses a key field that the file has not, before a row is read', async () => {
    const asked = run(testRun({ filesDir }), await csv(), { key: ['email', 'phone'] });
    await expect(asked).rejects.toMatchObject({ code: 'DATASET_DEFINITION_INVALID', details: { field: 'phone' } });
  });

  verifies('DATA-ADMIT-2', 'with another file fails on replay, and with the same file goes on', async () => {
    const test = testRun({ filesDir });
    await run(test, await csv(), {});
    const same = testRun({ filesDir, store: test.store, attempt: 2 });
    expect(await (await run(same, Promise.resolve(await csv()), {})).count()).toBe(4);
    for (const items of [await csv(3), [{ name: 'x' }]]) {
      const other = testRun({ filesDir, store: test.store, attempt: 3 + other3(items) });
      await expect(run(other, items, {})).rejects.toMatchObject({
        code: 'NON_DETERMINISTIC',
        details: { what: 'source' },
      });
    }
  });
});

const other3 = (items: unknown): number => (Array.isArray(items) ? 1 : 0);

describe('what reports read of a dataset', () => {
  verifies(
    ['DATA-KEY-3', 'DATA-ORDER-1'],
    'every row is there with the user’s own columns; a repeated row takes over the cells of its first',
    async () => {
      const test = testRun({ filesDir, credits: (ordinal) => ordinal + 1 });
      await run(test, await csv(), { key: 'email' });
      const reader = await readerOf(test);
      expect(await all(reader)).toMatchObject([
        {
          ordinal: 0,
          state: 'completed',
          key: 'ada@a.test',
          cells: { greeting: 'Hello Ada' },
          credits: 1,
          repeats: null,
        },
        {
          ordinal: 1,
          state: 'completed',
          key: 'bo@b.test',
          input: { 'E-mail': 'bo@b.test', 'Full Name': 'Doe, Bo', Zip: '5' },
          trace: [],
        },
        {
          ordinal: 2,
          state: 'skipped',
          input: { 'Full Name': 'Ada twice' },
          cells: { greeting: 'Hello Ada' },
          credits: 0,
          repeats: 0,
        },
        {
          ordinal: 3,
          state: 'failed',
          cells: { greeting: null },
          error: { code: 'COLUMN_FAILED' },
          trace: [{ path: 'greeting', outcome: 'failed' }],
        },
      ]);
      expect(await reader.shape()).toMatchObject({
        key: 'people',
        total: 4,
        admitted: 3,
        header: ['E-mail', 'Full Name', 'Zip'],
        columns: [{ name: 'greeting', legs: ['greeting'] }],
        keyFields: ['email'],
        file: { name: 'leads.csv' },
      });
      expect(await reader.row(3)).toMatchObject({ state: 'failed' });
      expect(await reader.row(4)).toBeUndefined();
      expect(await reader.row(-1)).toBeUndefined();
    },
  );

  verifies('CLI-WHY-1', 'a row is found by its key, its key fields, or its number', async () => {
    const test = testRun({ filesDir });
    await run(test, await csv(), { key: ['name', 'Zip'] });
    const reader = await readerOf(test);
    expect(await reader.findRow('Ada,01234')).toBe(0);
    expect(await reader.findRow('Doe, Bo,5')).toBe(1);
    expect(await reader.findRow('["Cy","7"]')).toBe(3);
    expect(await reader.findRow('#4')).toBe(3);
    for (const text of ['#5', '#0', 'Ada', 'nobody,1', '[', '']) expect(await reader.findRow(text)).toBeUndefined();
  });

  it('finds rows of other sources by numbers, texts that look like them, and function keys', async () => {
    const test = testRun();
    const items = [{ id: 7 }, { id: '7' }, { id: '#1' }];
    await createDataset(test.host, 'numbers', items).run({ key: 'id' } as never);
    const reader = await readerOf(test);
    expect(await reader.findRow('7')).toBe(0);
    expect(await reader.findRow('#1')).toBe(2);
    const other = testRun();
    await createDataset(other.host, 'fn', items).run({ key: (row: Row) => `key ${typeof row.id} ${row.id}` } as never);
    expect(await (await readerOf(other)).findRow('key string 7')).toBe(1);
    const plain = testRun();
    await createDataset(plain.host, 'content', items).run();
    expect(await (await readerOf(plain)).findRow('#2')).toBe(1);
    expect(await (await readerOf(plain)).findRow('7')).toBeUndefined();
  });

  it('shows rows that are not finished, and leaves out those that net_new did not admit', async () => {
    const test = testRun({ concurrency: 1 });
    void createDataset(test.host, 'people', [{ id: 'a' }, { id: 'b' }])
      .withColumn('c', (row) => ((row as Row).id === 'b' ? new Promise(() => {}) : 1))
      .run({ key: 'id', mode: 'net_new' } as never);
    await test.idle();
    const states = (rows: DatasetRow[]): unknown => rows.map((row) => [row.key, row.state, row.cells.c]);
    expect(states(await all(await readerOf(test)))).toEqual([
      ['a', 'completed', 1],
      ['b', 'unfinished', null],
    ]);
    const second = testRun({ store: test.store, runNo: 2 });
    await createDataset(second.host, 'people', [{ id: 'a' }, { id: 'c' }]).run({ key: 'id', mode: 'net_new' } as never);
    const reader = await readerOf(second, 2);
    expect((await all(reader)).map((row) => row.key)).toEqual(['c']);
    expect(await reader.row(0)).toMatchObject({ state: 'skipped', repeats: null });
  });

  verifies('DATA-VERSION-1', 'a later run never changes what an earlier one shows', async () => {
    const test = testRun({ filesDir });
    await run(test, await csv(), { key: 'email' });
    const before = await all(await readerOf(test));
    const second = testRun({ filesDir, store: test.store, runNo: 2 });
    await createDataset(second.host, 'people', await csv())
      .withColumn('greeting', () => 'other')
      .run();
    expect(await all(await readerOf(test))).toEqual(before);
  });

  it('reads nothing of a dataset that was cut short, and says how to go on', async () => {
    const test = testRun();
    const endless = {
      async *[Symbol.asyncIterator](): AsyncGenerator<Row> {
        yield { n: 1 };
        await new Promise(() => {});
      },
    };
    void createDataset(test.host, 'people', endless).run();
    await test.idle();
    const reader = await readerOf(test);
    expect(await all(reader)).toEqual([]);
    expect(await reader.row(0)).toBeUndefined();
    await expect(reader.findRow('#1')).rejects.toMatchObject({ code: 'ROW_NOT_FOUND' });
    expect(await reader.shape()).toMatchObject({ sealed: false, total: 0 });
  });
});
