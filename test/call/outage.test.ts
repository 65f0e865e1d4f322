import { describe, expect } from 'vitest';
import { fastClock, zeroChance } from '../harness/crash.ts';
import { batchedTool, countedTool, endsAs, inputRows, latch } from '../harness/tools.ts';
import { openTest, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const KEYED = { idempotency: { header: 'Idempotency-Key' } };
const ROWS = inputRows(50);

describe('an outage early in a run', () => {
  for (const ending of ['ambiguous', 'notDispatched'])
    for (const calls of ['alone', 'in batches'])
      verifies(['RETRY-BUDGET-3', 'BREAKER-PROVIDER-2'], `fails no row: calls ${calls}, ended ${ending}`, async () => {
        const clock = fastClock(50);
        let began: number | undefined;
        /** Up until so many calls have been answered, then down for some seconds. */
        const answer = (asked: number): void => {
          if (asked <= 20) return;
          began ??= clock.now();
          if (clock.now() - began < 5_000) throw endsAs(ending);
        };
        const limits = { concurrency: 50 };
        // All that may be out are, when it begins.
        const alone = countedTool({ ...KEYED, limits }, async ({ n }) => {
          const asked = alone.sent.length;
          await new Promise(setImmediate);
          answer(asked);
          return n;
        });
        const batched = batchedTool({ ...KEYED, limits, maxSize: 2 }, async (inputs) => {
          const asked = batched.sent.length;
          await new Promise(setImmediate);
          answer(asked);
          return inputs.map(({ n }) => n);
        });
        const { tool, sent } = calls === 'alone' ? alone : batched;
        const workspace = await openTest(testFolder(), { tools: [tool], clock });
        const rows = calls === 'alone' ? 100 : 200;
        const { run, result } = await runPlay(workspace, ROWS, { input: { rows } });
        const { failed, completed } = await workspace.store.datasets.rowCounts(run.no, 1);
        expect([result, failed, completed]).toEqual([rows, 0, rows]);
        // Those that were out when it began, and single ones after that.
        expect(sent.length).toBeGreaterThan(100);
        expect(sent.length).toBeLessThan(100 + 75);
      });
});

describe('an outage of a run with one call at a time', () => {
  const ONE = inputRows(1);

  /** Answers five calls, then fails so often. */
  async function failing(times: number, parts: object = {}) {
    const { tool, sent } = countedTool({ ...KEYED, ...parts }, ({ n }) => {
      if (sent.length > 5 && sent.length <= 5 + times) throw endsAs('ambiguous');
      return n;
    });
    const workspace = await openTest(testFolder(), { tools: [tool], chance: zeroChance(), clock: fastClock(200) });
    const { run } = await runPlay(workspace, ONE, { input: { rows: 12 } });
    const { failed, completed } = await workspace.store.datasets.rowCounts(run.no, 1);
    return [failed, completed, sent.length];
  }

  verifies(['RETRY-OUTAGE-1', 'RETRY-OUTAGE-2'], 'fails no row', async () => {
    for (const times of [8, 11]) expect(await failing(times, { maxTries: 2 })).toEqual([0, 12, 12 + times]);
  });

  verifies('RETRY-OUTAGE-2', 'fails those that fail by their own fault, and no other', async () => {
    const { tool, sent } = countedTool({ ...KEYED, maxTries: 2 }, ({ n }) => {
      if (n === 5 || n === 11) throw endsAs('ambiguous');
      return n;
    });
    const workspace = await openTest(testFolder(), { tools: [tool], chance: zeroChance(), clock: fastClock(200) });
    const { run } = await runPlay(workspace, ONE, { input: { rows: 12 } });
    expect(await workspace.store.datasets.rowCounts(run.no, 1)).toMatchObject({ failed: 2, completed: 10 });
    // Nobody waits behind it.
    const order = sent.map(({ input }) => input.n);
    expect(order.indexOf(6)).toBeLessThan(order.lastIndexOf(5));
  });

  verifies('RETRY-OUTAGE-1', 'is none of its business where its tool is to be tried once', async () => {
    expect(await failing(9, { maxTries: 1 })).toEqual([7, 5, 12]);
  });

  verifies('RETRY-OUTAGE-1', 'is tried no longer where each try may be charged', async () => {
    expect(await failing(10, { maxTries: 2, idempotency: undefined })).toEqual([5, 7, 12 + 5]);
  });
});

describe('rows that fail by their own fault, more than are in flight', () => {
  const POOL = inputRows(10);

  /** How many rows of 60 fail and complete, the first so many of which are refused for ever. */
  async function poisoned(poison: number, answeredBefore: number) {
    const { tool } = countedTool(KEYED, ({ n }) => {
      if (n >= answeredBefore && n < answeredBefore + poison) throw endsAs('ambiguous');
      return n;
    });
    const workspace = await openTest(testFolder(), { tools: [tool], clock: fastClock(100) });
    const { run } = await runPlay(workspace, POOL, { input: { rows: 60 } });
    const { failed, completed } = await workspace.store.datasets.rowCounts(run.no, 1);
    return [failed, completed];
  }

  for (const [poison, answeredBefore] of [
    [10, 0],
    [14, 20],
  ] as const)
    verifies('BREAKER-ASIDE-1', `step aside for those behind them, ${answeredBefore} answered before`, async () => {
      expect(await poisoned(poison, answeredBefore)).toEqual([poison, 60 - poison]);
    });
});

describe('a leg that fails some calls in a row, quickly, beside slow answers', () => {
  verifies('RETRY-OUTAGE-1', 'is tried as often as its tool says, and then the next is asked', async () => {
    const all = latch();
    const { tool, sent } = countedTool({ ...KEYED, maxTries: 2, limits: { concurrency: 30 } }, async ({ n }) => {
      if (n < 0) return n;
      if (n < 5) throw endsAs('ambiguous');
      await all.opened;
      return n;
    });
    const other = countedTool({ id: 'other.find' }, ({ n }) => {
      if (other.sent.length === 5) all.open();
      return n;
    });
    const workspace = await openTest(testFolder(), { tools: [tool, other.tool], chance: zeroChance() });
    const ask = (of: string, n = 'row.n'): string =>
      `(await ctx.tools.execute({ id: 'x', tool: '${of}', input: { n: ${n} } })).data`;
    const { result } = await runPlay(
      workspace,
      `async (ctx) => {
        for (let n = -30; n < 0; n++) ${ask('acme.find', 'n')};
        const rows = await ctx.dataset('rows', Array.from({ length: 30 }, (_, n) => ({ n }))).withColumn('v', steps()
          .step('first', async (row, ctx) => ${ask('acme.find')}, { continueOnProviderUnavailable: true })
          .step('second', async (row, ctx) => ${ask('other.find')}, { runIf: (row) => row.first === null })
          .return((row) => row.first ?? row.second)).run({ key: 'n', concurrency: 30 });
        return (await rows.materialize()).map((row) => row.v);
      }`,
    );
    const failed = sent.filter(({ input: { n } }) => n >= 0 && n < 5);
    expect([result, failed.length, other.sent.length]).toEqual([Array.from({ length: 30 }, (_, n) => n), 5 * 2, 5]);
  });
});

describe('rows that fail by their own fault', () => {
  verifies('BREAKER-PROVIDER-4', 'end when their tries are used up, though nothing else is left', async () => {
    const { tool, sent } = countedTool({ ...KEYED, limits: { concurrency: 20 } }, ({ n }) => {
      if (n % 20 === 0) throw endsAs('ambiguous');
      return n;
    });
    const workspace = await openTest(testFolder(), { tools: [tool], clock: fastClock(50) });
    const { run } = await runPlay(workspace, ROWS, { input: { rows: 400 } });
    const { failed, completed } = await workspace.store.datasets.rowCounts(run.no, 1);
    expect([failed, completed, sent.length]).toEqual([20, 380, 380 + 20 * 5]);
  });
});
