import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { createDataset } from './builder.ts';
import { releasedClaims } from './claims.ts';
import { keyHex } from './key-index.ts';
import { type TestRun, testRun } from './test-host.test-support.ts';

type Row = Record<string, unknown>;

const people: Row[] = [
  { id: 'a', name: 'Ada' },
  { id: 'b', name: 'Bo' },
  { id: 'a', name: 'Ada again' },
];

function run(test: TestRun, items: unknown, given: Row = {}): Promise<{ materialize(): Promise<unknown[]> }> {
  const { dataset = 'people', ...options } = given;
  const chain = createDataset(test.host, dataset, items).withColumn('seen', (row) => (row as Row).name ?? true, {
    replace: true,
  });
  return chain.run(options as never);
}

async function refused(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  return await promise.then(
    () => ({ code: 'nothing was refused' }),
    (error: unknown) => error as Record<string, unknown>,
  );
}

describe('admission', () => {
  verifies(
    'DATA-SOURCES-1',
    'takes arrays, iterables, async iterables, datasets, views and promises of them',
    async () => {
      const rows = [{ n: 1 }, { n: 2 }];
      const first = await run(testRun(), rows);
      async function* later(): AsyncGenerator<Row> {
        yield* rows;
      }
      const test = testRun();
      const kinds: unknown[] = [rows, new Set(rows), rows.values(), later(), first, Promise.resolve(first)];
      for (const [index, items] of kinds.entries()) {
        const read = await run(test, items, { dataset: `kind ${index}` });
        expect((await read.materialize()).map((row) => (row as Row).n)).toEqual([1, 2]);
      }
      const view = (first as never as { filter(fn: unknown): unknown }).filter(async (row: Row) => row.n === 2);
      expect(await (await run(test, view, { dataset: 'view' })).materialize()).toEqual([{ n: 2, seen: true }]);
    },
  );

  it.each([null, undefined, 'text', 7, { length: 1 }])('refuses %j as a source at once', (items) => {
    expect(() => createDataset(testRun().host, 'people', items)).toThrow(
      expect.objectContaining({ code: 'DATASET_DEFINITION_INVALID' }),
    );
  });

  it('refuses what a promised source turns out to be', async () => {
    expect(await refused(run(testRun(), Promise.resolve('text')))).toMatchObject({
      code: 'DATASET_DEFINITION_INVALID',
    });
  });

  it.each([
    ['a text', 'x', 'rows[1]', 'a string'],
    ['null', null, 'rows[1]', 'null'],
    ['a list', [1], 'rows[1]', 'a list'],
    ['a class instance', { at: new Date(0) }, 'rows[1].at', 'an instance of Date'],
    ['a function inside', { deep: [{ f: () => 1 }] }, 'rows[1].deep[0].f', 'a function'],
    ['not a number', { n: Number.NaN }, 'rows[1].n', 'NaN'],
    ['a big integer', { n: 1n }, 'rows[1].n', 'a bigint'],
  ])('refuses %s as a row, with its number and path', async (_name, bad, path, found) => {
    const error = await refused(run(testRun(), [{ ok: 1 }, bad]));
    expect(error).toMatchObject({ code: 'ROW_INVALID', details: { row: 2, path, found } });
  });

  it('keeps the order of an author’s keys and drops what is undefined', async () => {
    const read = await run(testRun(), [{ z: 1, a: { y: 2, b: 3 }, gone: undefined }]);
    expect(JSON.stringify(await read.materialize())).toBe('[{"z":1,"a":{"y":2,"b":3},"seen":true}]');
  });

  verifies(
    'DATA-KEY-3',
    'the first of two rows with one key runs; the later is skipped, counted and reported',
    async () => {
      const test = testRun();
      const read = await run(test, people, { key: 'id' });
      expect(await read.materialize()).toEqual([
        { id: 'a', name: 'Ada', seen: 'Ada' },
        { id: 'b', name: 'Bo', seen: 'Bo' },
      ]);
      expect(test.progress.at(-1)).toMatchObject({ total: 3, completed: 2, skipped: 1 });
      const admitted = test.events.find((event) => event.type === 'dataset.admitted');
      expect(JSON.parse(admitted?.data ?? '')).toMatchObject({
        duplicates: 1,
        firstDuplicates: [{ row: 3, repeats: 1 }],
      });
    },
  );

  verifies('DATA-KEY-1', 'rows of equal content all run, each with an occurrence of its own', async () => {
    const test = testRun();
    const same = [{ n: 1 }, { n: 1 }, { n: 2 }, { n: 1 }];
    expect(await (await run(test, same)).materialize()).toHaveLength(4);
    const { keys, repeats } = await test.store.reads.frameChunk(1, 1, 0, 4);
    expect(new Set([0, 1, 2, 3].map((row) => keyHex(keys, row))).size).toBe(4);
    expect([...repeats]).toEqual([-1, -1, -1, -1]);
    const again = testRun();
    await run(again, [{ n: 2 }, { n: 1 }]);
    const other = await again.store.reads.frameChunk(1, 1, 0, 2);
    expect(keyHex(other.keys, 1)).toBe(keyHex(keys, 0));
  });

  verifies(
    ['DATA-KEY-2', 'ERROR-NEXT-1'],
    'keys that are none are refused with the first 20 row numbers and the count',
    async () => {
      const rows = Array.from({ length: 60 }, (_, index) => ({ id: index % 2 === 0 ? `k${index}` : '' }));
      const test = testRun();
      const error = await refused(run(test, rows, { key: 'id' }));
      expect(error.code).toBe('ROW_KEY_INVALID');
      expect(error.message).toContain("30 of 60 rows have no usable key: row 2 (field 'id' is empty), row 4");
      expect((error.details as Row).rows).toEqual(Array.from({ length: 20 }, (_, index) => 2 * index + 2));
      expect(error.message).toContain('and 10 more');
      expect(error.next).not.toEqual([]);
      expect(test.gates).toEqual([]);
    },
  );

  verifies('DATA-KEY-4', 'an unstable key function is refused before a row runs', async () => {
    let count = 0;
    const test = testRun();
    const error = await refused(run(test, people, { key: () => `k${count++}` }));
    expect(error).toMatchObject({ code: 'ROW_KEY_UNSTABLE' });
    expect(test.gates).toEqual([]);
  });

  it('lets a play try again under the same name after keys were refused', async () => {
    const test = testRun();
    await refused(run(test, people, { key: 'none' }));
    expect(await (await run(test, people, { key: 'name' })).materialize()).toHaveLength(3);
  });

  it('refuses a second dataset under an open key', async () => {
    const test = testRun();
    await run(test, people);
    expect(await refused(run(test, people))).toMatchObject({ code: 'DATASET_DEFINITION_INVALID' });
  });

  verifies(
    'DATA-NETNEW-1',
    'net_new admits no key that another run has, and its result holds admitted rows only',
    async () => {
      const test = testRun();
      await run(test, [{ id: 'a' }, { id: 'b' }], { key: 'id', mode: 'net_new' });
      const second = testRun({ store: test.store, runNo: 2 });
      const read = await run(second, [{ id: 'b' }, { id: 'c' }, { id: 'c' }], { key: 'id', mode: 'net_new' });
      expect(await read.materialize()).toEqual([{ id: 'c', seen: true }]);
      expect(second.progress.at(-1)).toMatchObject({ total: 3, completed: 1, skipped: 2 });
      const other = testRun({ store: test.store, runNo: 3 });
      expect(
        await (await run(other, [{ id: 'a' }], { dataset: 'other', key: 'id', mode: 'net_new' })).materialize(),
      ).toHaveLength(1);
    },
  );

  verifies(
    'DATA-NETNEW-2',
    'frees the claims of rows that a failed run did not finish, and keeps those of rows that it did',
    async () => {
      const test = testRun();
      const failing = createDataset(test.host, 'people', [{ id: 'a' }, { id: 'b' }])
        .withColumn('seen', ((row: { id: string }) => {
          if (row.id === 'b') throw new Error('not this one');
          return true;
        }) as never)
        .run({ key: 'id', mode: 'net_new' } as never);
      await failing;
      await test.store.commit([
        await releasedClaims(test.host.reads, { runNo: 1, play: test.host.play, fence: test.host.fence }),
      ]);
      const second = testRun({ store: test.store, runNo: 2 });
      const read = await run(second, [{ id: 'a' }, { id: 'b' }], { key: 'id', mode: 'net_new' });
      expect(await read.materialize()).toEqual([{ id: 'b', seen: true }]);
    },
  );

  it('ends the run where the store refuses the frame', async () => {
    const test = testRun();
    test.store.refuse.set('spool', new Error('disk is gone'));
    const error = await refused(run(test, people));
    expect(error).toMatchObject({ code: 'STORE_FAILED' });
    expect(test.fatal).toHaveLength(1);
  });

  it('passes on what the source throws', async () => {
    async function* failing(): AsyncGenerator<Row> {
      yield { n: 1 };
      throw new Error('the cursor broke');
    }
    await expect(run(testRun(), failing())).rejects.toThrow('the cursor broke');
  });

  it('writes the frame in chunks that its plan names', async () => {
    const test = testRun();
    const rows = Array.from({ length: 5000 }, (_, n) => ({ n }));
    await run(test, rows, { key: 'n' });
    const chunks = test.store.written.filter((write) => write.kind === 'frameChunk');
    expect(chunks.map((write) => write.first)).toEqual([0, 2048, 4096]);
    const [frame] = await test.store.reads.frames(1);
    expect(JSON.parse(frame?.plan ?? '').source).toEqual({ kind: 'spool', starts: [0, 2048, 4096] });
    expect(frame).toMatchObject({ sealed: true, total: 5000, admitted: 5000 });
  });
});
