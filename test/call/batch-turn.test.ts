import { describe, expect } from 'vitest';
import { systemClock } from '../../src/scope/index.ts';
import type { Tool } from '../../src/sdk/index.ts';
import { type BatchedTool, batchedTool, countedTool, latch, until } from '../harness/tools.ts';
import { queued, settled, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** Questions that are asked once the test lets them: `globalThis.mayAsk` is in its hands. */
const asking = (count: number): string => `async (ctx) => Promise.all(Array.from({ length: ${count} }, async (_, n) => {
  await globalThis.mayAsk(n);
  return (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } })).data;
}))`;
const WAIT_MS = 77;
const ONE_AT_A_TIME = { limits: { concurrency: 1 }, maxWaitMs: WAIT_MS };

/**
 * A run of so many questions whose first is out at the provider, so that its limit holds the others back. Questions are
 * asked, and the waits of batches are over, when the test says so.
 */
async function heldBack(
  tool: Tool,
  parts: { readonly count: number; readonly sent: () => number; maxCredits?: number },
) {
  const { count, sent, ...order } = parts;
  const waits: (() => void)[] = [];
  const after = (ms: number, fn: () => void, options?: { keepAlive?: boolean }): (() => void) => {
    if (ms !== WAIT_MS) return systemClock.after(ms, fn, options);
    waits.push(fn);
    return () => {};
  };
  const workspace = await testWorkspace({ tools: [tool], clock: { ...systemClock, after } });
  const may = Array.from({ length: count }, latch);
  Object.assign(globalThis, { mayAsk: (n: number) => may[n]?.opened });
  const waiting = (): number => workspace.deps.calls.governor.snapshot()[0]?.waiting ?? 0;
  const run = await queued(workspace, asking(count), order);
  const progress = await workspace.engine.start(run.id);
  /** Asks these questions, the last of which finds no batch that it may join and begins one, whose wait is over at once. */
  const ask = async (...asked: readonly number[]): Promise<void> => {
    const begun = waits.length;
    for (const n of asked) may[n]?.open();
    await until(() => waits.length > begun);
    waits[begun]?.();
  };
  await ask(0);
  await until(() => sent() === 1);
  await ask(1);
  await until(() => waiting() === 1);
  /** Asks these, which fill the batch that waits, and one more. */
  const fill = async (...asked: readonly number[]): Promise<void> => {
    await ask(...asked);
    await until(() => waiting() === 2);
  };
  return { workspace, run, progress, fill };
}

const asked = ({ sent }: Pick<BatchedTool, 'sent'>): number[][] => sent.map(({ inputs }) => inputs.map(({ n }) => n));
const answers = (count: number): unknown[] => Array.from({ length: count }, (_, n) => ({ got: { n } }));

/** Batches of so many, one at a time, that are answered once the test opens `held`. */
function heldTool(maxSize: number) {
  const held = latch();
  const batched = batchedTool({ maxSize, ...ONE_AT_A_TIME }, async (inputs) => {
    await held.opened;
    return inputs.map((input) => ({ got: input }));
  });
  return { ...batched, held };
}

describe('a batch that limits hold back', () => {
  verifies(
    'BATCH-FILL-1',
    'takes what is asked meanwhile until it is full, and goes out at its turn, full or not',
    async () => {
      const { held, ...batched } = heldTool(3);
      const { run, workspace, progress, fill } = await heldBack(batched.tool, {
        count: 5,
        sent: () => batched.sent.length,
      });
      await fill(2, 3, 4);
      held.open();
      expect(await progress.outcome).toMatchObject({ kind: 'completed', result: answers(5) });
      expect(asked(batched)).toEqual([[0], [1, 2, 3], [4]]);
      expect(await settled(workspace, run)).toBe(5);
      expect(workspace.deps.calls.governor.snapshot()).toMatchObject([{ inFlight: 0, waiting: 0, credits: 5 }]);
    },
  );

  verifies(['BATCH-FILL-1', 'BATCH-BUDGET-1'], 'shrinks to what the budget has at its turn', async () => {
    const { held, ...batched } = heldTool(4);
    const { run, workspace, progress, fill } = await heldBack(batched.tool, {
      count: 6,
      sent: () => batched.sent.length,
      maxCredits: 4,
    });
    await fill(2, 3, 4, 5);
    held.open();
    expect(await progress.outcome).toMatchObject({ kind: 'failed', error: { code: 'OUT_OF_CREDITS' } });
    expect(batched.sent.map(({ inputs }) => inputs.length)).toEqual([1, 3]);
    expect(await settled(workspace, run)).toBe(4);
  });

  verifies(['BATCH-FILL-1', 'BATCH-LEAVE-1'], 'is left by all its members when their run ends', async () => {
    const { held, ...batched } = heldTool(3);
    const { run, workspace, progress, fill } = await heldBack(batched.tool, {
      count: 5,
      sent: () => batched.sent.length,
    });
    await fill(2, 3, 4);
    progress.interrupt();
    held.open();
    expect((await progress.outcome).kind).toBe('interrupted');
    expect(asked(batched)).toEqual([[0]]);
    expect(workspace.deps.calls.governor.snapshot()).toMatchObject([{ inFlight: 0, waiting: 0 }]);
    expect(await settled(workspace, run)).toBe(1);
  });

  verifies(
    ['BATCH-FILL-1', 'BATCH-ALONE-1'],
    'is a question by itself where nobody has joined it by its turn',
    async () => {
      const held = latch();
      const single = countedTool({ id: 'acme.find', limits: { concurrency: 1 } }, async (input) => {
        await held.opened;
        return { got: input };
      });
      const batches: number[] = [];
      const batch = {
        maxSize: 2,
        maxWaitMs: WAIT_MS,
        run: (inputs: readonly { n: number }[]): unknown[] => {
          batches.push(inputs.length);
          return inputs.map((input) => ({ got: input }));
        },
      };
      const both = { ...single.tool, batch } as unknown as Tool;
      const { run, workspace, progress, fill } = await heldBack(both, { count: 4, sent: () => single.sent.length });
      await fill(2, 3);
      held.open();
      expect(await progress.outcome).toMatchObject({ kind: 'completed', result: answers(4) });
      expect([batches, single.sent.map(({ input }) => input.n)]).toEqual([[2], [0, 3]]);
      expect(await settled(workspace, run)).toBe(4);
      expect(workspace.deps.calls.governor.snapshot()).toMatchObject([{ inFlight: 0, waiting: 0, credits: 4 }]);
    },
  );
});
