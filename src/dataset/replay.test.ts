import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { steps } from '../sdk/index.ts';
import { createDataset } from './builder.ts';
import { defineColumn } from './columns.ts';
import { openFrame } from './frame.ts';
import { keySpecOf } from './keys.ts';
import { processRange } from './process.ts';
import { DatasetCounters } from './progress.ts';
import { type TestRun, type TestRunOptions, TestStore, testRun } from './test-host.test-support.ts';

type Row = Record<string, unknown>;
interface Chain {
  withColumn(name: unknown, resolver: unknown, options?: unknown): Chain;
  run(options?: unknown): Promise<{ materialize(): Promise<Row[]> }>;
}
const dataset = (test: TestRun, items: unknown, key = 'leads'): Chain =>
  createDataset(test.host, key, items) as unknown as Chain;

const rowsOf = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ n }));

/** An attempt that ends after `count` rows have run. */
async function stopAfter(count: number, rows: Row[], options: TestRunOptions = {}): Promise<TestRun> {
  const test = testRun({ concurrency: 4, ...options });
  let ran = 0;
  void dataset(test, rows)
    .withColumn('c', async (row: Row) => {
      ran++;
      if (ran > count) {
        test.stop();
        return await new Promise(() => {});
      }
      return Number(row.n) * 2;
    })
    .run({ key: 'n' });
  for (let turn = 0; turn < 10; turn++) await test.idle();
  return test;
}

describe('a later attempt', () => {
  verifies(
    ['DATA-ADMIT-1', 'DATA-PROGRESS-2'],
    'uses the frame whatever the source says now, and runs unfinished rows only',
    async () => {
      const first = await stopAfter(5, rowsOf(12));
      const done = (await first.store.recorded()).length;
      expect(done).toBeGreaterThan(0);
      expect(done).toBeLessThan(12);
      const second = testRun({ store: first.store, attempt: 2 });
      const ran: unknown[] = [];
      const items = (function* (): Generator<Row> {
        yield { n: 'the source must not be read again' };
      })();
      const rows = await dataset(second, items)
        .withColumn('c', (row: Row) => {
          ran.push(row.n);
          return Number(row.n) * 2;
        })
        .run({ key: 'n' });
      expect(await rows.materialize()).toEqual(rowsOf(12).map(({ n }) => ({ n, c: Number(n) * 2 })));
      expect(ran).toHaveLength(12 - done);
      expect(second.prepared).toHaveLength(12 - done);
      expect(second.progress.at(-1)).toMatchObject({ total: 12, completed: 12, reused: done, started: 12, queued: 0 });
    },
  );

  verifies(
    ['DATA-ORDER-1', 'DATA-VERSION-1'],
    'any sequence of stops gives the rows of an undisturbed run',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 4 }), async (stops) => {
          const store = new TestStore();
          let attempt = 0;
          for (const count of stops) await stopAfter(count, rowsOf(20), { store, attempt: ++attempt });
          const last = testRun({ store, attempt: attempt + 1 });
          const rows = await dataset(last, rowsOf(20))
            .withColumn('c', (row: Row) => Number(row.n) * 2)
            .run({ key: 'n' });
          expect(await rows.materialize()).toEqual(rowsOf(20).map(({ n }) => ({ n, c: Number(n) * 2 })));
        }),
        { numRuns: 8 },
      );
    },
  );

  it('admits anew where an attempt was cut short before the frame was sealed', async () => {
    const first = testRun();
    async function* endless(): AsyncGenerator<Row> {
      for (let n = 0; n < 3000; n++) yield { n, attempt: 1 };
      await new Promise(() => {});
    }
    void dataset(first, endless()).run();
    for (let turn = 0; turn < 20; turn++) await first.idle();
    expect((await first.store.reads.frames(1)).map((frame) => frame.sealed)).toEqual([false]);
    const second = testRun({ store: first.store, attempt: 2 });
    const rows = await dataset(second, [{ n: 1, attempt: 2 }]).run();
    expect(await rows.materialize()).toEqual([{ n: 1, attempt: 2 }]);
    const third = testRun({ store: first.store, attempt: 3 });
    expect(await (await dataset(third, []).run()).materialize()).toEqual([{ n: 1, attempt: 2 }]);
  });

  const other = steps<Row>()
    .step('b', () => 1)
    .return(() => 1);
  const differences: [string, (chain: Chain) => Promise<unknown>, string][] = [
    ['a column more', (chain) => chain.withColumn('d', () => 1).run({ key: 'n' }), 'column 2'],
    ['another mode', (chain) => chain.run({ key: 'n', mode: 'net_new' }), 'mode'],
    ['another row key', (chain) => chain.run({ key: ['n'] }), 'key'],
    ['no row key', (chain) => chain.run(), 'key'],
  ];
  for (const [name, change, what] of differences)
    verifies('DATA-ADMIT-2', `with ${name} fails with the first difference before a row runs`, async () => {
      const first = await stopAfter(2, rowsOf(5));
      const second = testRun({ store: first.store, attempt: 2 });
      const chain = dataset(second, rowsOf(5)).withColumn('c', () => 1);
      await expect(change(chain)).rejects.toMatchObject({
        code: 'NON_DETERMINISTIC',
        details: { dataset: 'leads', what },
      });
      expect(second.fatal).toHaveLength(1);
      expect(second.gates).toEqual([]);
    });

  verifies('DATA-ADMIT-2', 'names a column that changed its name, and steps that did', async () => {
    const first = testRun();
    const program = steps<Row>()
      .step('a', () => 1)
      .return(() => 1);
    await dataset(first, rowsOf(2)).withColumn('c', program).run();
    const renamed = testRun({ store: first.store, attempt: 2 });
    const asked = dataset(renamed, rowsOf(2)).withColumn('d', program).run();
    await expect(asked).rejects.toMatchObject({ details: { what: 'column 1', recorded: 'c', now: 'd' } });
    const stepped = testRun({ store: first.store, attempt: 3 });
    const steppedAsked = dataset(stepped, rowsOf(2)).withColumn('c', other).run();
    await expect(steppedAsked).rejects.toMatchObject({ details: { what: "steps of column 'c'" } });
  });

  verifies('DATA-ADMIT-2', 'with another dataset key fails, and two datasets of one shape are told apart', async () => {
    const first = testRun();
    await dataset(first, rowsOf(2), 'leads at 12:01')
      .withColumn('c', () => 1)
      .run();
    const second = testRun({ store: first.store, attempt: 2 });
    const asked = dataset(second, rowsOf(2), 'leads at 12:02')
      .withColumn('c', () => 1)
      .run();
    await expect(asked).rejects.toMatchObject({ code: 'NON_DETERMINISTIC', details: { what: 'dataset key' } });
    const third = testRun({ store: first.store, attempt: 3 });
    await dataset(third, rowsOf(2), 'leads at 12:01')
      .withColumn('c', () => 1)
      .run();
    await dataset(third, rowsOf(2), 'a second one')
      .withColumn('c', () => 1)
      .run();
  });

  it('leaves failed rows failed unless they are to be tried again', async () => {
    const first = testRun();
    const broken = (row: Row): unknown => {
      if (row.n === 1) throw new Error('down');
      return 1;
    };
    await dataset(first, rowsOf(3)).withColumn('c', broken).run();
    const second = testRun({ store: first.store, attempt: 2 });
    const rows = await dataset(second, rowsOf(3))
      .withColumn('c', () => 2)
      .run();
    expect((await rows.materialize()).map((row) => row.c)).toEqual([1, null, 1]);
    expect(second.progress.at(-1)).toMatchObject({ completed: 2, failed: 1, reused: 3 });
    const third = testRun({ store: first.store, attempt: 3, retryFailed: true });
    const again = await dataset(third, rowsOf(3))
      .withColumn('c', () => 2)
      .run();
    expect((await again.materialize()).map((row) => row.c)).toEqual([1, 2, 1]);
    expect(third.progress.at(-1)).toMatchObject({ completed: 3, failed: 0 });
  });

  verifies('DATA-ERROR-2', 'ends at once where a row had failed in a dataset that may have none', async () => {
    const first = testRun();
    const broken = (row: Row): unknown => {
      if (row.n === 1) throw new Error('down');
      return 1;
    };
    await expect(dataset(first, rowsOf(3)).withColumn('c', broken).run({ onRowError: 'fail' })).rejects.toThrow('down');
    const second = testRun({ store: first.store, attempt: 2 });
    const asked = dataset(second, rowsOf(3))
      .withColumn('c', () => 1)
      .run({ onRowError: 'fail' });
    await expect(asked).rejects.toMatchObject({ code: 'ROW_FAILED', details: { rowNumber: 2, row: '#2' } });
    expect(second.gates).toEqual([]);
    const third = testRun({ store: first.store, attempt: 3, retryFailed: true });
    await dataset(third, rowsOf(3))
      .withColumn('c', () => 1)
      .run({ onRowError: 'fail' });
  });

  it('keeps numbers of datasets apart that are admitted at once', async () => {
    const test = testRun();
    await Promise.all(['a', 'b', 'c'].map((key) => dataset(test, rowsOf(2), key).run()));
    expect((await test.store.reads.frames(1)).map((frame) => frame.datasetNo)).toEqual([1, 2, 3]);
  });

  it('refuses a frame of an edition that it does not know', async () => {
    const first = testRun();
    await dataset(first, rowsOf(1)).run();
    const [frame] = await first.store.reads.frames(1);
    if (frame === undefined) throw new Error('no frame');
    const future = { ...frame, plan: JSON.stringify({ ...JSON.parse(frame.plan), edition: 2 }) };
    await first.host.committer.commit([{ kind: 'frame', fence: first.host.fence, frame: future }]);
    const second = testRun({ store: first.store, attempt: 2 });
    await expect(dataset(second, rowsOf(1)).run()).rejects.toMatchObject({ code: 'BOUNDARY_UNKNOWN' });
  });
});

describe('processing', () => {
  verifies('DATA-RANGE-1', 'works on a range of the frame and touches no row outside it', async () => {
    const test = testRun();
    const ran: number[] = [];
    const resolver = (row: Row): number => ran.push(Number(row.n));
    const columns = [defineColumn('leads', { name: 'c', resolver, options: undefined }, [])];
    const keySpec = keySpecOf('n', 'leads');
    const counters = new DatasetCounters(test.host, 'leads', ['c']);
    const wish = { key: 'leads', items: rowsOf(5000), columns, keySpec, mode: 'upsert' as const };
    const { frame } = await openFrame(test.host, wish, counters);
    const what = { frame, columns, keySpec, counters, onRowError: 'isolate' as const };
    const settings = { concurrency: 8, maxParked: 10, resumed: true };
    await processRange(test.host, { ...what, ...settings }, { from: 2040, to: 2060 });
    expect(ran).toEqual(Array.from({ length: 20 }, (_, index) => 2040 + index));
    expect((await test.store.recorded()).map((row) => row.ordinal)).toEqual(ran);
  });

  verifies('DATA-PROGRESS-1', 'counters add up at every moment, whatever rows do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('plain', 'async', 'throw', 'twice'), { maxLength: 60 }),
        async (kinds) => {
          const test = testRun({ concurrency: 5, credits: () => 2 });
          const rows = kinds.map((kind, n) => ({ kind, id: kind === 'twice' ? 'same' : `row ${n}` }));
          const chain = dataset(test, rows).withColumn('c', (row: Row) => {
            if (row.kind === 'throw') throw new Error('broken');
            return row.kind === 'async' ? Promise.resolve(1) : 1;
          });
          await chain.run({ key: 'id' });
          for (const one of test.progress) {
            const sum = one.queued + one.active + one.waiting + one.completed + one.failed + one.skipped;
            expect(one.total).toBe(sum);
            expect(
              Math.min(one.queued, one.active, one.waiting, one.completed, one.failed, one.skipped),
            ).toBeGreaterThanOrEqual(0);
          }
          const last = test.progress.at(-1);
          expect(last).toMatchObject({ total: rows.length, queued: 0, active: 0, waiting: 0 });
          expect(last?.failed).toBe(kinds.filter((kind) => kind === 'throw').length);
          expect(last?.credits).toBe(2 * ((last?.completed ?? 0) + (last?.failed ?? 0)));
        },
      ),
      { numRuns: 30 },
    );
  });

  verifies('DATA-PROGRESS-2', 'counts a row when its record is durable, not when it returned', async () => {
    const test = testRun();
    let open: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { defer } = { defer: test.host.committer.defer.bind(test.host.committer) };
    const committer = {
      commit: test.host.committer.commit.bind(test.host.committer),
      flush: test.host.committer.flush.bind(test.host.committer),
      defer: (...args: Parameters<typeof defer>) => void held.then(() => defer(...args)),
    };
    const running = dataset({ ...test, host: { ...test.host, committer } }, rowsOf(3))
      .withColumn('c', () => 1)
      .run();
    await test.idle();
    expect(test.progress.at(-1)).toMatchObject({ active: 3, completed: 0 });
    open();
    await running;
    expect(test.progress.at(-1)).toMatchObject({ active: 0, completed: 3 });
  });

  it('names rows that have been active for longer than a minute, with the leg they are in', async () => {
    const test = testRun();
    const program = steps<Row>()
      .step('slow', () => new Promise(() => {}))
      .return(() => 1);
    void dataset(test, rowsOf(2)).withColumn('c', program).run();
    await test.idle();
    expect(test.progress.at(-1)?.slow).toEqual([]);
    await test.clock.advance(70_000);
    expect(test.progress.at(-1)?.slow).toEqual([
      { ordinal: 0, path: 'c.slow', sinceMs: 70_000 },
      { ordinal: 1, path: 'c.slow', sinceMs: 70_000 },
    ]);
  });

  verifies('RUN-FENCE-1', 'a row that may not be written ends the run', async () => {
    const test = testRun();
    const second = testRun({ store: test.store, attempt: 2 });
    const started = dataset(test, rowsOf(3)).run();
    await expect(started).rejects.toMatchObject({ code: 'STALE_ATTEMPT' });
    expect(test.fatal).toHaveLength(1);
    await dataset(second, rowsOf(3)).run();
    const third = testRun({ store: test.store, runNo: 2 });
    third.store.refuse.set('row', new Error('disk is gone'));
    await expect(dataset(third, rowsOf(3)).run()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(third.fatal).toHaveLength(1);
  });

  verifies('SUSPEND-ROW-1', 'a row that suspends is parked and the others go on; then run stays pending', async () => {
    const test = testRun({ concurrency: 2 });
    let settled = false;
    const running = dataset(test, rowsOf(6))
      .withColumn('before', (row: Row) => row.n)
      .withColumn('c', (row: Row, _ctx: unknown, index: number) => {
        if (Number(row.n) % 2 === 1) return row.n;
        const row0 = test.gates[index];
        row0?.gate.suspend();
        row0?.suspended();
        return new Promise(() => {});
      })
      .run();
    void running.then(() => {
      settled = true;
    });
    for (let turn = 0; turn < 5; turn++) await test.idle();
    expect((await test.store.recorded()).map((row) => [row.state, row.cells])).toEqual([
      ['parked', '[0]'],
      ['completed', '[1,1]'],
      ['parked', '[2]'],
      ['completed', '[3,3]'],
      ['parked', '[4]'],
      ['completed', '[5,5]'],
    ]);
    expect(settled).toBe(false);
    expect(test.progress.at(-1)).toMatchObject({ waiting: 3, completed: 3, active: 0 });
    const rests = test.events.filter((event) => event.type === 'dataset.parked');
    expect(rests.map(({ message }) => message)).toEqual([
      expect.stringMatching(/: all 3 unfinished rows are waiting\.$/),
    ]);
    const later = testRun({ store: test.store, attempt: 2 });
    const chain = dataset(later, [])
      .withColumn('before', (row: Row) => row.n)
      .withColumn('c', (row: Row) => row.n);
    expect((await (await chain.run()).materialize()).map((row) => row.c)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(later.progress.at(-1)).toMatchObject({ started: 6, completed: 6, waiting: 0 });
  });

  it('starts nothing once the attempt is over, and never answers the play', async () => {
    const test = testRun();
    test.stop();
    let settled = false;
    const running = dataset(test, rowsOf(3)).run();
    running.then(
      () => {
        settled = true;
      },
      () => {
        settled = true;
      },
    );
    await test.idle();
    expect(settled).toBe(false);
    expect(await test.store.reads.frames(1)).toEqual([]);
  });
});
