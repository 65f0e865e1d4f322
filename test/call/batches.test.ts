import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/scope/index.ts';
import type { Tool } from '../../src/sdk/index.ts';
import { resumeOptions } from '../../src/workspace/index.ts';
import { bulkTool } from '../harness/bulk.ts';
import { zeroChance } from '../harness/crash.ts';
import { batchedTool, countedTool, endsAs, latch, until } from '../harness/tools.ts';
import { attempt, queued, retryFailed, runPlay, settled, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** Rows that each ask one question, in batches where the tool has them. */
const rowsOf = (count: number, options = '{}', tool = 'acme.find'): string => `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: ${count} }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: '${tool}', input: { n: row.n } })).data)
    .run(${options});
  return (await rows.materialize()).map((row) => row.v ?? null);
}`;
const answers = (count: number): unknown[] => Array.from({ length: count }, (_, n) => ({ got: { n } }));
const NEVER = 60_000;

const sizes = ({ sent }: { sent: readonly { inputs: readonly unknown[] }[] }): number[] =>
  sent.map(({ inputs }) => inputs.length);

describe('a batch gathers', () => {
  verifies('BATCH-GATHER-1', 'until it is full, and the rest once all rows of the pool wait for it', async () => {
    const batched = batchedTool({ maxSize: 10, maxWaitMs: NEVER });
    const workspace = await testWorkspace({ tools: [batched.tool] });
    const { result, run } = await runPlay(workspace, rowsOf(25, '{ concurrency: 25 }'));
    expect(result).toEqual(answers(25));
    expect(sizes(batched)).toEqual([10, 10, 5]);
    expect(await settled(workspace, run)).toBe(25);
  });

  verifies('BATCH-GATHER-1', 'until its wait is over, where rows do something else as well', async () => {
    const held: (() => void)[] = [];
    // The wait of this batch is the test's own.
    const after = (ms: number, fn: () => void, options?: { keepAlive?: boolean }): (() => void) => {
      if (ms !== 77) return systemClock.after(ms, fn, options);
      held.push(fn);
      return () => {};
    };
    const batched = batchedTool({ maxSize: 10, maxWaitMs: 77 });
    const workspace = await testWorkspace({ tools: [batched.tool], clock: { ...systemClock, after } });
    const ask = (n: number): string => `ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: ${n} } })`;
    const run = runPlay(workspace, `async (ctx) => (await Promise.all([${ask(0)}, ${ask(1)}])).map((one) => one.data)`);
    await until(() => held.length > 0);
    for (let turn = 0; turn < 50; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    expect(batched.sent).toEqual([]);
    held[0]?.();
    expect((await run).result).toEqual(answers(2));
    expect(sizes(batched)).toEqual([2]);
  });

  verifies('BATCH-POOL-1', 'from twice as many rows as it holds, however few the pool began with', async () => {
    const batched = batchedTool({ maxSize: 30, maxWaitMs: NEVER });
    const workspace = await testWorkspace({ tools: [batched.tool] });
    const { result } = await runPlay(workspace, rowsOf(90, '{ concurrency: 4 }'));
    expect(result).toEqual(answers(90));
    expect(sizes(batched)).toEqual([30, 30, 30]);
  });

  verifies('BATCH-GATHER-1', 'questions of one effect, and each of them once', async () => {
    const effect = ({ n }: { n: number }) => (n % 2 === 0 ? 'read' : 'idempotent') as 'read';
    const mixed = batchedTool({ maxSize: 10, effect, reuse: 'never' });
    const workspace = await testWorkspace({ tools: [mixed.tool] });
    const { result } = await runPlay(workspace, rowsOf(6).replace('{ n: row.n }', '{ n: row.n % 4 }'));
    expect(result).toEqual([0, 1, 2, 3, 0, 1].map((n) => ({ got: { n } })));
    const asked = mixed.sent.map(({ inputs }) => inputs.map(({ n }) => n));
    expect(asked).toHaveLength(4);
    expect(asked).toEqual(expect.arrayContaining([[0, 2], [1, 3], [0], [1]]));
  });

  it('questions that others have asked before are answered by receipts, and only misses go out', async () => {
    const batched = batchedTool({ maxSize: 10 });
    const workspace = await testWorkspace({ tools: [batched.tool] });
    await runPlay(workspace, rowsOf(3));
    const { result, run } = await runPlay(workspace, rowsOf(6));
    expect(result).toEqual(answers(6));
    expect(batched.sent.map(({ inputs }) => inputs.map(({ n }) => n))).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(await settled(workspace, run)).toBe(3);
  });

  verifies(
    'BATCH-ALONE-1',
    'nobody: a question that is left alone goes out by itself, or as a batch of one',
    async () => {
      const single = countedTool({ id: 'acme.find' });
      const batches: number[] = [];
      const run = (inputs: readonly unknown[]): unknown[] => {
        batches.push(inputs.length);
        return inputs.map((input) => ({ got: input }));
      };
      const both = { ...single.tool, batch: { maxSize: 4, run } } as unknown as Tool;
      const only = batchedTool({ id: 'acme.only', maxSize: 4 });
      const workspace = await testWorkspace({ tools: [both, only.tool] });
      expect((await runPlay(workspace, rowsOf(5))).result).toEqual(answers(5));
      expect([batches, single.sent.map(({ input }) => input)]).toEqual([[4], [{ n: 4 }]]);
      expect((await runPlay(workspace, rowsOf(5, '{}', 'acme.only'))).result).toEqual(answers(5));
      expect(sizes(only)).toEqual([4, 1]);
    },
  );
});

describe('members of a batch', () => {
  verifies('BATCH-MEMBERS-1', 'have each its own receipt, journal entry and cost', async () => {
    const cost = { credits: ({ input }: { input: { n: number } }) => input.n, max: 9 };
    const split = (value: { n: number }[]) =>
      value.map(({ n }) =>
        n === 2 ? ({ status: 'no_result' } as const) : ({ status: 'completed', data: { n } } as const),
      );
    const batched = batchedTool(
      { maxSize: 4, cost: cost as never, split, extract: { n: 'data.n' } },
      (inputs) => inputs,
    );
    const workspace = await testWorkspace({ tools: [batched.tool] });
    const { run, result } = await runPlay(workspace, rowsOf(4).replace(').data)', ').values.n)'));
    expect(result).toEqual([0, 1, null, 3]);
    expect(sizes(batched)).toEqual([4]);
    const journal = await workspace.store.calls.journal(run.no, 1, [0, 1, 2, 3]);
    const entries = [0, 1, 2, 3].map((ordinal) => journal.get(ordinal)?.[0]);
    expect(entries).toMatchObject([0, 1, 2, 3].map((credits) => ({ credits, source: 'live' })));
    expect(entries.map((entry) => entry?.outcome)).toEqual(['completed', 'completed', 'no_result', 'completed']);
    const receipts = await workspace.store.calls.receiptsByIds(entries.map((entry) => entry?.receiptId ?? 0));
    expect(new Set(receipts.map((receipt) => receipt?.key)).size).toBe(4);
    expect(receipts.map((receipt) => receipt?.callId)).toEqual(entries.map((entry) => entry?.callId));
    expect(await workspace.store.calls.unsettledReceipts(run.no)).toEqual([]);
    expect(await settled(workspace, run)).toBe(6);
  });

  verifies('BATCH-ONE-1', 'are one request to the limits of their provider', async () => {
    const limits = { rate: [{ calls: 1, per: '1h' }], concurrency: 1 };
    const { tool, sent } = batchedTool({ maxSize: 20, limits });
    const workspace = await testWorkspace({ tools: [tool] });
    expect((await runPlay(workspace, rowsOf(20))).result).toEqual(answers(20));
    expect(sent).toHaveLength(1);
    const { governor } = workspace.deps.calls;
    expect(governor.snapshot()).toMatchObject([{ inFlight: 0, credits: 20 }]);
  });

  verifies('BATCH-BUDGET-1', 'spend all of a budget and not a credit more, whatever they cost in the end', async () => {
    for (const maxSize of [1000, 16, 7]) {
      const cost = { credits: ({ input }: { input: { n: number } }) => (input.n % 3 === 0 ? 0 : 1), max: 2 };
      const batched = batchedTool({ maxSize, cost: cost as never, maxWaitMs: 5 });
      const workspace = await testWorkspace({ tools: [batched.tool] });
      const { run, code } = await runPlay(workspace, rowsOf(64, '{ concurrency: 64 }'), { maxCredits: 21 });
      expect(code).toBe('OUT_OF_CREDITS');
      // As with single calls: the next one may cost 2, so that one credit may be left.
      expect(await settled(workspace, run)).toBeGreaterThanOrEqual(20);
      expect(await settled(workspace, run)).toBeLessThanOrEqual(21);
      const asked = batched.sent.flatMap(({ inputs }) => inputs.map(({ n }) => n));
      expect(new Set(asked).size).toBe(asked.length);
    }
  });

  verifies('BATCH-BUDGET-1', 'do not wait for what others hold back where some of them fit', async () => {
    const held = latch();
    const slow = countedTool({ id: 'acme.slow', cost: { credits: 6 } }, async () => {
      await held.opened;
      return 'ok';
    });
    const batched = batchedTool({ maxSize: 8 });
    const workspace = await testWorkspace({ tools: [slow.tool, batched.tool] });
    const eight = `Array.from({ length: 8 }, (_, n) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } }))`;
    const play = `async (ctx) => {
      await Promise.all([ctx.tools.execute({ id: 's', tool: 'acme.slow', input: {} }), ...${eight}]);
    }`;
    const run = await queued(workspace, play, { maxCredits: 10 });
    const progress = await workspace.engine.start(run.id);
    await until(() => batched.sent.length > 0);
    expect([slow.sent.length, sizes(batched)]).toEqual([1, [4]]);
    held.open();
    expect(await progress.outcome).toMatchObject({ kind: 'failed', error: { code: 'OUT_OF_CREDITS' } });
    expect(await settled(workspace, run)).toBe(10);
  });

  verifies(
    ['BATCH-BUDGET-1', 'BATCH-MEMBERS-1'],
    'go on where the credits were out, and nothing is asked twice',
    async () => {
      const batched = batchedTool({ maxSize: 64 });
      const workspace = await testWorkspace({ tools: [batched.tool] });
      const { run, code } = await runPlay(workspace, rowsOf(64), { maxCredits: 10 });
      expect([code, await settled(workspace, run), sizes(batched)]).toEqual(['OUT_OF_CREDITS', 10, [10]]);
      await resumeOptions(workspace, run, { maxCredits: 64 });
      expect((await attempt(workspace, run.id)).result).toEqual(answers(64));
      expect(sizes(batched)).toEqual([10, 54]);
      expect(await settled(workspace, run)).toBe(64);
    },
  );
});

describe('a member that the answer refuses', () => {
  const outcomes = (of: (n: number, asked: number) => object | undefined) => {
    const asked = new Map<number, number>();
    const split = (value: { n: number }[]) =>
      value.map(({ n }) => of(n, asked.get(n) ?? 0) ?? { status: 'completed', data: { got: { n } } }) as never;
    const batched = batchedTool({ maxSize: 5, split, maxWaitMs: 1 }, (inputs) => {
      for (const { n } of inputs) asked.set(n, (asked.get(n) ?? 0) + 1);
      return inputs;
    });
    return batched;
  };

  verifies(
    ['BATCH-OUTCOMES-1', 'BATCH-MEMBERS-1'],
    'fails its row, for nothing, and is asked again by a retry',
    async () => {
      let isMended = false;
      const failed = { status: 'failed', message: 'no such domain' };
      const batched = outcomes((n, asked) => (n === 3 && !(isMended && asked > 1) ? failed : undefined));
      const workspace = await testWorkspace({ tools: [batched.tool] });
      const { run, result } = await runPlay(workspace, rowsOf(5));
      expect(result).toEqual(answers(5).map((value, n) => (n === 3 ? null : value)));
      const [row] = await workspace.store.report.failedRows(run.no, 1, { afterOrdinal: -1, limit: 9 });
      const error = JSON.parse(row?.error ?? '{}');
      expect(error).toMatchObject({ code: 'PROVIDER_REJECTED', message: expect.stringContaining('no such domain') });
      expect(await settled(workspace, run)).toBe(4);
      expect(await workspace.store.calls.unsettledReceipts(run.no)).toEqual([]);
      // Nobody else is given it, though its receipt is there.
      await runPlay(workspace, rowsOf(5));
      expect(batched.sent.map(({ inputs }) => inputs.map(({ n }) => n))).toEqual([[0, 1, 2, 3, 4], [3]]);
      isMended = true;
      await retryFailed(workspace, run.id);
      expect(await settled(workspace, run)).toBe(5);
    },
  );

  verifies(
    'BATCH-OUTCOMES-1',
    'is asked again under another key where it says so, and gives up after its tries',
    async () => {
      const deferred = { status: 'failed', message: 'busy', ending: 'deferred' };
      const batched = outcomes((n, asked) => (n === 1 && asked < 3 ? deferred : n === 2 ? deferred : undefined));
      const workspace = await testWorkspace({ tools: [batched.tool], chance: zeroChance() });
      const { run, result } = await runPlay(workspace, rowsOf(5));
      expect(result).toEqual(answers(5).map((value, n) => (n === 2 ? null : value)));
      const askedOf = (of: number) => batched.sent.filter(({ inputs }) => inputs.some(({ n }) => n === of));
      expect([askedOf(0).length, askedOf(1).length, askedOf(2).length]).toEqual([1, 3, 5]);
      expect(new Set(askedOf(2).map(({ operationKey }) => operationKey)).size).toBe(5);
      const [row] = await workspace.store.report.failedRows(run.no, 1, { afterOrdinal: -1, limit: 9 });
      expect(JSON.parse(row?.error ?? '{}').code).toBe('PROVIDER_RATE_LIMITED');
      expect(await settled(workspace, run)).toBe(4);
    },
  );
});

describe('a batch that fails', () => {
  verifies(
    ['BATCH-FAILED-1', 'BATCH-MEMBERS-1'],
    'is the failure of each of its members, and of no other row',
    async () => {
      const batched = batchedTool({ maxSize: 3, maxTries: 2 }, (inputs) => {
        if (inputs.some(({ n }) => n < 3)) throw endsAs('ambiguous');
        return inputs.map((input) => ({ got: input }));
      });
      const workspace = await testWorkspace({ tools: [batched.tool], chance: zeroChance() });
      const { result, run } = await runPlay(workspace, rowsOf(6));
      expect(result).toEqual([null, null, null, ...answers(6).slice(3)]);
      const failed = await workspace.store.report.failedCalls(run.no, 9);
      expect(failed.map(({ place }) => place.ordinal)).toEqual([0, 1, 2]);
      // What may have been done goes out again as it was.
      const tries = batched.sent.filter(({ inputs }) => inputs.some(({ n }) => n < 3));
      expect(tries).toHaveLength(2);
      expect(new Set(tries.map(({ operationKey }) => operationKey)).size).toBe(1);
      expect(new Set(tries.map(({ inputs }) => JSON.stringify(inputs))).size).toBe(1);
    },
  );

  verifies('BATCH-FAILED-1', 'is tried again under the next key where it was refused', async () => {
    let refusals = 2;
    const batched = batchedTool({ maxSize: 3 }, (inputs) => {
      if (refusals-- > 0) throw endsAs('deferred', { retryAfterMs: 0 });
      return inputs.map((input) => ({ got: input }));
    });
    const workspace = await testWorkspace({ tools: [batched.tool], chance: zeroChance() });
    expect((await runPlay(workspace, rowsOf(3))).result).toEqual(answers(3));
    expect(sizes(batched)).toEqual([3, 3, 3]);
    expect(new Set(batched.sent.map(({ operationKey }) => operationKey)).size).toBe(3);
  });

  verifies('BATCH-POISON-1', 'for one row is halved until that row fails alone, by function', async () => {
    const batched = batchedTool({ maxSize: 8 }, (inputs) => {
      if (inputs.some(({ n }) => n === 5)) throw new Error('cannot be asked');
      return inputs.map((input) => ({ got: input }));
    });
    const workspace = await testWorkspace({ tools: [batched.tool] });
    const { result, run } = await runPlay(workspace, rowsOf(8));
    expect(result).toEqual(answers(8).map((value, n) => (n === 5 ? null : value)));
    expect(sizes(batched).sort()).toEqual([1, 1, 2, 2, 4, 4, 8]);
    expect(new Set(batched.sent.map(({ operationKey }) => operationKey)).size).toBe(7);
    expect(await settled(workspace, run)).toBe(7);
  });

  verifies('BATCH-POISON-1', 'for its size or one row is halved over HTTP, and for nothing else', async () => {
    for (const [status, ended] of [
      [413, [0, 1, 2, 3]],
      [400, [0, 1, 3]],
      [422, [0, 1, 3]],
      [403, []],
    ] as const) {
      const { tool } = await bulkTool({ maxSize: 4 }, (asked) =>
        (status === 413 ? asked.length > 1 : asked.includes(2)) ? status : 200,
      );
      const workspace = await testWorkspace({ tools: [tool] });
      const { result } = await runPlay(workspace, rowsOf(4));
      expect(result).toEqual(answers(4).map((value, n) => ((ended as readonly number[]).includes(n) ? value : null)));
    }
  });
});
