import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { Gate } from '../scope/index.ts';
import { RunFatalError, steps, ToolExecutionError } from '../sdk/index.ts';
import { createDataset } from './builder.ts';
import { dataset, facts, type Row, readRows } from './chain.test-support.ts';
import { testRun } from './test-host.test-support.ts';

describe('columns', () => {
  verifies('DATA-COLUMN-1', 'run in order, each with the row so far, a ctx of its place and the index', async () => {
    const test = testRun();
    const places: unknown[] = [];
    const rows = await dataset(test, [{ n: 1 }, { n: 2 }])
      .withColumn('one', (row: Row, ctx: { path: string }, index: number) => {
        places.push([ctx.path, index]);
        return Number(row.n) * 10;
      })
      .withColumn(' two ', { run: async ({ row, index }: { row: Row; index: number }) => Number(row.one) + index })
      .run();
    expect(await rows.materialize()).toEqual([
      { n: 1, one: 10, two: 10 },
      { n: 2, one: 20, two: 21 },
    ]);
    expect(places).toEqual([
      ['one', 0],
      ['one', 1],
    ]);
  });

  verifies('DATA-COLUMN-2', 'a column that would hide an input column is refused unless replace is set', async () => {
    const hiding = dataset(testRun(), [{ n: 1 }]).withColumn('n', () => 2);
    await expect(hiding.run()).rejects.toMatchObject({ code: 'COLUMN_HIDES_INPUT', details: { column: 'n' } });
    const replacing = dataset(testRun(), [{ n: 1 }]).withColumn('n', (row: Row) => Number(row.n) + 1, {
      replace: true,
    });
    expect(await (await replacing.run()).materialize()).toEqual([{ n: 2 }]);
  });

  verifies(
    'DATA-COLUMN-3',
    'runIf false gives null, also when it is asked asynchronously; undefined is null',
    async () => {
      const rows = await dataset(testRun(), [{ n: 1 }, { n: 2 }])
        .withColumn('odd', { run: () => 'odd', runIf: (row: Row) => Number(row.n) % 2 === 1 })
        .withColumn('even', { run: () => 'even', runIf: async (row: Row) => Number(row.n) % 2 === 0 })
        .withColumn('none', () => undefined)
        .withColumn('nulls', (row: Row) => [row.odd, row.even, row.none].filter((value) => value === null).length)
        .run();
      expect(await rows.materialize()).toEqual([
        { n: 1, odd: 'odd', even: null, none: null, nulls: 2 },
        { n: 2, odd: null, even: 'even', none: null, nulls: 2 },
      ]);
    },
  );

  verifies(
    'DATA-COLUMN-4',
    'previousCell is the value of the last run of this play, found by key, or undefined',
    async () => {
      const test = testRun();
      const seen: unknown[] = [];
      const column = {
        run: ({ row, previousCell }: { row: Row; previousCell: unknown }) => {
          seen.push([row.id, previousCell]);
          return { cell: row.id, at: row.at };
        },
      };
      const of = (runNo: number, play: string, items: Row[]): Promise<unknown> =>
        dataset(testRun({ store: test.store, runNo, play }), items)
          .withColumn('c', column)
          .run({ key: 'id' });
      await of(1, 'test-play', [
        { id: 'a', at: 1 },
        { id: 'b', at: 1 },
      ]);
      await of(2, 'other-play', [{ id: 'b', at: 2 }]);
      seen.length = 0;
      await of(3, 'test-play', [
        { id: 'c', at: 3 },
        { id: 'b', at: 3 },
        { id: 'a', at: 3 },
      ]);
      expect(seen).toEqual([
        ['c', undefined],
        ['b', { cell: 'b', at: 1 }],
        ['a', { cell: 'a', at: 1 }],
      ]);
    },
  );

  verifies('DATA-PURE-1', 'plain resolvers await nothing: a whole row is done before the next statement', async () => {
    const test = testRun();
    const order: string[] = [];
    await dataset(test, [{ n: 1 }, { n: 2 }])
      .withColumn('a', (row: Row) => order.push(`a${row.n}`))
      .withColumn('b', (row: Row) => order.push(`b${row.n}`))
      .run();
    expect(order).toEqual(['a1', 'b1', 'a2', 'b2']);
    expect(test.store.written.some((write) => write.kind === 'call' || write.kind === 'boundary')).toBe(false);
  });

  verifies(
    'DATA-ERROR-1',
    'a resolver that throws fails its row only: earlier cells stay, the error says where',
    async () => {
      const test = testRun();
      const rows = await dataset(test, [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
        .withColumn('first', (row: Row) => `${row.id}1`)
        .withColumn('second', async (row: Row) => {
          if (row.id === 'b') throw new TypeError('no such thing');
          return 2;
        })
        .withColumn('third', () => 3)
        .run({ key: 'id' });
      expect(await rows.materialize()).toEqual([
        { id: 'a', first: 'a1', second: 2, third: 3 },
        { id: 'b', first: 'b1', second: null, third: null },
        { id: 'c', first: 'c1', second: 2, third: 3 },
      ]);
      const [, failed] = await readRows(test);
      expect(failed).toMatchObject({
        state: 'failed',
        key: 'b',
        error: { code: 'COLUMN_FAILED', message: 'TypeError: no such thing', column: 'second', row: 'b' },
      });
      expect(test.progress.at(-1)).toMatchObject({ total: 3, completed: 2, failed: 1, active: 0, queued: 0 });
      expect(test.events.filter((event) => event.type === 'row.failed')).toHaveLength(1);
    },
  );

  verifies('DATA-ERROR-1', 'a typed error keeps its code, its facts and what to do', async () => {
    const test = testRun();
    const error = new ToolExecutionError('PROVIDER_BILLING', 'pay first', facts, {
      next: ['Top up.'],
      details: { n: 1, f: () => 1 },
    });
    await dataset(test, [{ id: 'a' }])
      .withColumn('c', () => {
        throw error;
      })
      .run();
    const [row] = await readRows(test);
    expect(row?.error).toEqual({
      code: 'PROVIDER_BILLING',
      message: 'pay first',
      column: 'c',
      row: '#1',
      next: ['Top up.'],
    });
  });

  it.each([
    ['a text', 'just text', 'a resolver threw just text'],
    ['nothing', undefined, 'a resolver threw undefined'],
    ['an object', { a: 1 }, 'a resolver threw {"a":1}'],
    ['a big integer', 1n, 'a resolver threw a bigint'],
  ])('keeps a row that threw %s', async (_name, thrown, message) => {
    const test = testRun();
    const column = (): never => {
      throw thrown;
    };
    await dataset(test, [{ id: 'a' }])
      .withColumn('c', column)
      .run();
    expect((await readRows(test))[0]?.error).toMatchObject({ code: 'COLUMN_FAILED', message });
  });

  it.each([
    ['a date', { deep: [new Date(0)] }, 'rows[1].c.deep[0]', 'an instance of Date'],
    ['a function', () => 1, 'rows[1].c', 'a function'],
    ['a big integer', 1n, 'rows[1].c', 'a bigint'],
    ['a hole in a list', [1, undefined], 'rows[1].c[1]', 'undefined'],
  ])('fails a row whose cell is %s, with the path', async (_name, cell, path, found) => {
    const test = testRun();
    const rows = await dataset(test, [{ n: 1 }, { n: 2 }])
      .withColumn('c', (row: Row) => (row.n === 2 ? cell : 'fine'))
      .run();
    expect((await rows.materialize()).map((row) => row.c)).toEqual(['fine', null]);
    expect((await readRows(test))[1]?.error).toMatchObject({ code: 'RESULT_NOT_JSON', details: { path, found } });
  });

  verifies('DATA-ERROR-2', 'onRowError fail commits what is finished, then ends the run with ROW_FAILED', async () => {
    const test = testRun({ concurrency: 2 });
    const started: unknown[] = [];
    const running = dataset(test, [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }])
      .withColumn('c', async (row: Row) => {
        started.push(row.n);
        if (row.n === 2) throw new Error('broken');
        return row.n;
      })
      .run({ onRowError: 'fail' });
    await expect(running).rejects.toBeInstanceOf(RunFatalError);
    expect(test.fatal).toMatchObject([{ code: 'ROW_FAILED', details: { rowNumber: 2, column: 'c' } }]);
    expect((await test.store.recorded()).map((row) => row.state)).toContain('completed');
    expect(started).not.toContain(4);
  });

  verifies('ERROR-FATAL-1', 'a run-fatal error ends all: its row is not recorded, no further row starts', async () => {
    const test = testRun({ concurrency: 1 });
    const started: unknown[] = [];
    const running = dataset(test, [{ n: 1 }, { n: 2 }, { n: 3 }])
      .withColumn('c', (row: Row) => {
        started.push(row.n);
        if (row.n === 2) throw new RunFatalError('OUT_OF_CREDITS', 'no credits');
        return row.n;
      })
      .run();
    await expect(running).rejects.toMatchObject({ code: 'OUT_OF_CREDITS' });
    expect(started).toEqual([1, 2]);
    expect(test.fatal).toHaveLength(1);
    expect((await test.store.recorded()).map((row) => row.ordinal)).toEqual([0]);
  });

  verifies(
    'ERROR-FATAL-1',
    'a row that swallowed the run-fatal error is not recorded with what it made of it',
    async () => {
      const test = testRun({ concurrency: 1 });
      void dataset(test, [{ n: 1 }, { n: 2 }])
        .withColumn('c', (row: Row) => {
          if (row.n === 1) test.host.raiseFatal(new RunFatalError('OUT_OF_CREDITS', 'no credits'));
          return null;
        })
        .run();
      await test.idle();
      expect(await test.store.recorded()).toEqual([]);
    },
  );

  it('says where in the author’s file a plain error came from', async () => {
    const test = testRun();
    const error = new Error('boom');
    error.stack = 'Error: boom\n    at node:internal/x:1:1\n    at column (file:///work/plays/leads.play.ts:12:7)';
    const column = (): never => {
      throw error;
    };
    await dataset(test, [{ n: 1 }])
      .withColumn('c', column)
      .run();
    expect((await readRows(test))[0]?.error).toMatchObject({ at: '/work/plays/leads.play.ts:12:7' });
  });

  it('waits for effects that the author did not await before it records a row', async () => {
    const test = testRun({ credits: () => 3 });
    let finish: () => void = () => {};
    const running = dataset(test, [{ n: 1 }])
      .withColumn('c', () => {
        void test.gates[0]?.gate.enter(
          () =>
            new Promise<void>((resolve) => {
              finish = resolve;
            }),
        );
        return 1;
      })
      .run();
    await test.idle();
    expect(await test.store.recorded()).toEqual([]);
    finish();
    await running;
    expect(await test.store.recorded()).toMatchObject([{ credits: 3, state: 'completed' }]);
    expect(test.gates[0]?.gate.state).toBe('closed');
  });
});

describe('definitions', () => {
  const fails = (make: () => unknown): void => {
    expect(make).toThrow(expect.objectContaining({ code: 'DATASET_DEFINITION_INVALID' }));
  };

  it('trims names and refuses empty, long and other ones', () => {
    for (const name of ['', '   ', 'x'.repeat(201), 7, null, undefined]) {
      fails(() => createDataset(testRun().host, name, []));
      fails(() => dataset(testRun(), []).withColumn(name, () => 1));
    }
    dataset(testRun(), [], ` ${'ü'.repeat(200)} `).withColumn('x'.repeat(200), () => 1);
  });

  it('refuses two columns of one name, and resolvers that are none', () => {
    const chain = dataset(testRun(), []).withColumn('c', () => 1);
    fails(() => chain.withColumn(' c ', () => 1));
    for (const resolver of [
      undefined,
      null,
      1,
      {},
      { run: 1 },
      { run: () => 1, runIf: true },
      steps().step('a', () => 1),
    ])
      fails(() => chain.withColumn('d', resolver));
  });

  it.each([{ onRowError: 'ignore' }, { mode: 'insert' }, { concurrency: 0 }, { maxParked: 1.5 }, { key: 7 }, 'text'])(
    'refuses the run options %j',
    async (options) => {
      const running = dataset(testRun(), [{ n: 1 }]).run(options);
      await expect(running).rejects.toMatchObject({ code: 'DATASET_DEFINITION_INVALID' });
    },
  );

  it('warns of run options that it does not know, and takes undrawnColumns', async () => {
    const test = testRun();
    await dataset(test, [{ n: 1 }]).run({ undrawnColumns: [], colour: 'red' });
    expect(test.events.filter((event) => event.type === 'dataset.unknown_option')).toHaveLength(1);
  });

  verifies('CTX-NESTED-1', 'a dataset inside a row is refused with the way out', () => {
    const nested = testRun({
      scope: (run) => run.row({ datasetKey: 'outer', datasetNo: 1, ordinal: 0, identity: 'x', gate: new Gate() }),
    });
    expect(() => dataset(nested, [])).toThrow(expect.objectContaining({ code: 'DATASET_NESTED' }));
  });
});
