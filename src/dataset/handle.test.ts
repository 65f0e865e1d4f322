import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { canonicalJson } from '../scope/index.ts';
import type { PlayDataset } from '../sdk/index.ts';
import { createDataset } from './builder.ts';
import { describeHandle, isDatasetHandle } from './handle.ts';
import { testRun } from './test-host.test-support.ts';

interface Row {
  readonly n: number;
  readonly c: number | null;
}

async function numbers(
  count: number,
  options: { readonly key?: string; readonly every?: number } = {},
): Promise<PlayDataset<Row>> {
  const { every = count } = options;
  const items = Array.from({ length: count }, (_, n) => ({ n: n % every }));
  const run = options.key === undefined ? {} : { key: options.key };
  return (await createDataset(testRun().host, 'numbers', items)
    .withColumn('c', (row) => ((row as Row).n === 3 ? Promise.reject(new Error('three')) : (row as Row).n * 2))
    .run(run as never)) as PlayDataset<Row>;
}

describe('a dataset handle', () => {
  verifies(
    ['DATA-HANDLE-1', 'DATA-ORDER-1'],
    'reads from the store, in input order, null where a failed row has no cell',
    async () => {
      const rows = await numbers(5);
      expect(rows.key).toBe('numbers');
      expect(await rows.count()).toBe(5);
      expect(await rows.first()).toEqual({ n: 0, c: 0 });
      expect(await rows.at(3)).toEqual({ n: 3, c: null });
      expect(await rows.at(-1)).toEqual({ n: 4, c: 8 });
      expect(await rows.at(5)).toBeUndefined();
      expect(await rows.at(-6)).toBeUndefined();
      expect(await rows.at(0.5)).toBeUndefined();
      expect((await rows.peek(2)).map((row) => row.n)).toEqual([0, 1]);
      expect(await rows.peek()).toHaveLength(5);
      expect(await rows.materialize(0)).toEqual([]);
      const seen: number[] = [];
      for await (const row of rows) seen.push(row.n);
      expect(seen).toEqual([0, 1, 2, 3, 4]);
    },
  );

  it('reads across pieces and chunks', async () => {
    const rows = await numbers(5000);
    expect((await rows.materialize()).map((row) => row.n)).toEqual(Array.from({ length: 5000 }, (_, n) => n));
    expect(await rows.at(4321)).toEqual({ n: 4321, c: 8642 });
    expect((await rows.materialize(2500)).length).toBe(2500);
  });

  it('counts places by admitted rows where some are skipped', async () => {
    const rows = await numbers(40, { key: 'n', every: 10 });
    expect(await rows.count()).toBe(10);
    expect(await rows.at(9)).toEqual({ n: 9, c: 18 });
    expect(await rows.at(-1)).toEqual({ n: 9, c: 18 });
    expect(await rows.at(10)).toBeUndefined();
    expect(await rows.materialize()).toHaveLength(10);
  });

  it('has no rows over no items', async () => {
    const rows = await numbers(0);
    expect([await rows.count(), await rows.first(), await rows.materialize()]).toEqual([0, undefined, []]);
  });

  verifies('DATA-HANDLE-1', 'filters and maps lazily, and views are read as datasets are', async () => {
    const rows = await numbers(10);
    let asked = 0;
    const even = rows.filter(async (row) => {
      asked++;
      return row.n % 2 === 0;
    });
    expect(asked).toBe(0);
    expect(await even.first()).toEqual({ n: 0, c: 0 });
    expect(asked).toBe(1);
    expect(await even.count()).toBe(5);
    expect(await even.at(2)).toEqual({ n: 4, c: 8 });
    const texts = even.map(async (row, index) => `${index}:${row.n}`);
    expect(await texts.materialize()).toEqual(['0:0', '1:2', '2:4', '3:6', '4:8']);
    expect(await texts.filter(async (text) => text.endsWith('8')).count()).toBe(1);
    expect(await rows.map(async (row, index) => row.n === index).at(7)).toBe(true);
  });

  verifies('DATA-ARRAY-1', 'used as an array it says which call is right', async () => {
    const rows = await numbers(3);
    const array = rows as unknown as unknown[];
    const uses: [() => unknown, string][] = [
      [() => array.length, 'await rows.count()'],
      [() => array[0], 'await rows.at(0)'],
      [() => [...array], 'for await (const row of rows)'],
      [() => JSON.stringify(rows), 'await rows.materialize()'],
      [() => array.forEach(() => {}), 'for await'],
      [() => array.find(() => true), '.first()'],
      [() => array.sort(), '(await rows.materialize()).sort('],
      [() => array.includes(1), '(await rows.materialize()).includes('],
      [
        () => {
          array[0] = 1;
        },
        '.withColumn(',
      ],
      [() => (rows.map as unknown as (fn: unknown) => unknown)('name'), 'rows.map(async (row) => …)'],
      [() => (rows.filter(async () => true) as unknown as unknown[]).length, 'await rows.count()'],
    ];
    for (const [use, call] of uses) {
      const error = (() => {
        try {
          return use();
        } catch (thrown) {
          return thrown;
        }
      })();
      expect(error).toMatchObject({ code: 'DATASET_AS_ARRAY', message: expect.stringContaining(call) });
    }
    const sync = rows.map(((row: Row) => row.n) as never);
    await expect(sync.materialize()).rejects.toMatchObject({ code: 'DATASET_AS_ARRAY' });
    const syncFilter = rows.filter((() => true) as never);
    await expect(syncFilter.count()).rejects.toMatchObject({ code: 'DATASET_AS_ARRAY' });
  });

  it('can be awaited, printed and asked for what it lacks without harm', async () => {
    const rows = await numbers(1);
    expect(await Promise.resolve(rows)).toBe(rows);
    expect((rows as unknown as { nothing: unknown }).nothing).toBeUndefined();
    expect(String(Object.prototype.toString.call(rows))).toBe('[object Object]');
  });

  verifies('PLAY-RESULT-1', 'stands in a result as its key; a view or other value is no handle', async () => {
    const rows = await numbers(1);
    expect(isDatasetHandle(rows)).toBe(true);
    expect(describeHandle(rows)).toEqual({ dataset: 'numbers' });
    for (const other of [rows.filter(async () => true), {}, null, 'numbers', [rows]]) {
      expect(isDatasetHandle(other)).toBe(false);
      expect(describeHandle(other)).toBeUndefined();
    }
    expect(() => canonicalJson({ rows })).toThrow('an instance of');
  });
});
