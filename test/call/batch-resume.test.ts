import { describe, expect } from 'vitest';
import { VirtualClock } from '../../src/scope/virtual-clock.ts';
import type { Write } from '../../src/store/index.ts';
import { resolveOperation, type Workspace } from '../../src/workspace/index.ts';
import { crash, laterClock, zeroChance } from '../harness/crash.ts';
import { rerun } from '../harness/rerun.ts';
import { type BatchedTool, batchedTool, endsAs, latch, until } from '../harness/tools.ts';
import {
  attempt,
  openTest,
  queued,
  retryFailed,
  runPlay,
  settled,
  testFolder,
  testWorkspace,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** Five rows that ask once the test lets them: `globalThis.mayAsk` is in its hands. */
const FIVE = `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: 5 }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) => {
      await globalThis.mayAsk?.(row.n);
      return (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data;
    })
    .run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.v ?? null);
}`;
const ALL = [0, 1, 2, 3, 4].map((n) => ({ got: { n } }));
const KEYED = { idempotency: { header: 'Idempotency-Key' } };

const isReceipt = (write: Write): boolean => write.kind === 'receipt';
const asked = ({ sent }: Pick<BatchedTool, 'sent'>): number[][] => sent.map(({ inputs }) => inputs.map(({ n }) => n));
const keys = ({ sent }: Pick<BatchedTool, 'sent'>): number =>
  new Set(sent.map(({ operationKey }) => operationKey)).size;

async function withAsking<T>(mayAsk: (n: number) => unknown, work: () => Promise<T>): Promise<T> {
  Object.assign(globalThis, { mayAsk });
  try {
    return await work();
  } finally {
    Object.assign(globalThis, { mayAsk: undefined });
  }
}

/** A run whose process died after it had sent a batch, and before its answer was on disk. */
async function killed(parts: object) {
  const counted = batchedTool({ maxSize: 5, ...parts });
  const dir = testFolder();
  const now = await openTest(dir, { tools: [counted.tool] });
  const run = await queued(now, FIVE);
  await crash(now, run.id, isReceipt);
  expect(asked(counted)).toEqual([[0, 1, 2, 3, 4]]);
  return { ...counted, dir, run, later: await openTest(dir, { tools: [counted.tool], clock: laterClock() }) };
}

function doubts(workspace: Workspace, runNo: number) {
  return workspace.store.report.operationsOfRun(runNo, 99);
}

describe('a batch whose process died', () => {
  for (const parts of [KEYED, { effect: 'idempotent' }, { effect: 'write', ...KEYED }, { reuse: 'never', ...KEYED }])
    verifies(
      'BATCH-SAME-1',
      `is sent again as it was, whichever row comes first, and rows that come later find its answer (${JSON.stringify(parts)})`,
      async () => {
        const { run, later, ...counted } = await killed(parts);
        expect((await doubts(later, run.no)).map(({ batch }) => [batch?.index, batch?.size])).toEqual(
          [0, 1, 2, 3, 4].map((index) => [index, 5]),
        );
        let wrote = false;
        const held = later.store.report;
        // Row 3 asks first; the others ask once it has its answer on disk.
        const mayAsk = async (n: number): Promise<void> => {
          if (n === 3) return;
          while (!wrote) {
            wrote = (await held.listReceipts({ limit: 9 })).length > 0;
            await new Promise<void>((resolve) => setImmediate(resolve));
          }
        };
        const { result } = await withAsking(mayAsk, () => attempt(later, run.id));
        expect(result).toEqual(ALL);
        expect(asked(counted)).toEqual([
          [0, 1, 2, 3, 4],
          [0, 1, 2, 3, 4],
        ]);
        expect(keys(counted)).toBe(1);
        expect(await settled(later, run)).toBe(5);
        expect(later.deps.calls.governor.snapshot()).toMatchObject([{ credits: 5 }]);
        expect(await later.store.calls.unsettledReceipts(run.no)).toEqual([]);
      },
    );

  verifies(
    'BATCH-SAME-1',
    'is the same to its provider where another row asks one of its questions first',
    async () => {
      const counted = batchedTool({ maxSize: 5, ...KEYED });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [counted.tool] });
      const play = FIVE.replace('n: row.n } })', 'n: row.n % 4 } })');
      const run = await queued(now, play);
      await crash(now, run.id, isReceipt);
      expect(asked(counted)).toEqual([[0, 1, 2, 3]]);
      const later = await openTest(dir, { tools: [counted.tool], clock: laterClock() });
      // Row 4 had followed row 0: now it leads.
      const wait = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      const mayAsk = async (n: number): Promise<void> => {
        for (let turn = 0; n !== 4 && counted.sent.length < 2 && turn < 100_000; turn++) await wait();
      };
      const { result } = await withAsking(mayAsk, () => attempt(later, run.id));
      expect(result).toEqual([...ALL.slice(0, 4), ALL[0]]);
      expect(asked(counted)).toEqual([
        [0, 1, 2, 3],
        [0, 1, 2, 3],
      ]);
      expect(keys(counted)).toBe(1);
      expect(await settled(later, run)).toBe(4);
    },
  );

  verifies(
    'BATCH-SAME-1',
    'was no more than questions where nobody can know it: nothing of it is on record',
    async () => {
      const { run, later, ...counted } = await killed({});
      expect(await doubts(later, run.no)).toEqual([]);
      // Row 4 comes when the others have been sent: they do not wait for it.
      const mayAsk = (n: number): unknown => (n === 4 ? until(() => counted.sent.length === 2) : undefined);
      const { result } = await withAsking(mayAsk, () => attempt(later, run.id));
      expect(result).toEqual(ALL);
      expect(asked(counted)[1]).toEqual([0, 1, 2, 3]);
      expect(await settled(later, run)).toBe(5);
    },
  );

  verifies('BATCH-DOUBT-1', 'leaves each of its writes in doubt, and each is resolved by itself', async () => {
    const { run, later, ...counted } = await killed({ effect: 'write' });
    const first = await attempt(later, run.id);
    expect(first.result).toEqual([null, null, null, null, null]);
    const open = await doubts(later, run.no);
    expect(open.map(({ state }) => state)).toEqual(Array(5).fill('intended'));
    expect(asked(counted)).toHaveLength(1);
    const resolve = (ordinal: number, as: 'done' | 'notDone'): Promise<unknown> => {
      const call = open.find(({ place }) => place.ordinal === ordinal)?.callId ?? '';
      return resolveOperation(later, first.run, { call, as, data: as === 'done' ? 'by hand' : null });
    };
    await resolve(0, 'done');
    await resolve(1, 'notDone');
    await resolve(2, 'notDone');
    expect((await retryFailed(later, run.id)).result).toEqual(['by hand', ALL[1], ALL[2], null, null]);
    expect(asked(counted)).toEqual([
      [0, 1, 2, 3, 4],
      [1, 2],
    ]);
    expect(await settled(later, run)).toBe(3);
  });

  verifies('BATCH-DOUBT-1', 'asks the provider of each write where the tool can', async () => {
    const reconcile = ({ n }: { n: number }) =>
      n % 2 === 0 ? { status: 'done' as const, data: { got: { n } } } : { status: 'notDone' as const };
    const { run, later, ...counted } = await killed({ effect: 'write', reconcile });
    expect((await attempt(later, run.id)).result).toEqual(ALL);
    expect(asked(counted)).toEqual([
      [0, 1, 2, 3, 4],
      [1, 3],
    ]);
  });
});

describe('a batch that may have been done', () => {
  verifies(
    ['BATCH-SAME-1', 'BATCH-FAILED-1'],
    'goes out as it was when its failed rows are tried again, in a rerun too',
    async () => {
      for (const again of [retryFailed, undefined]) {
        let works = false;
        const counted = batchedTool({ maxSize: 5, effect: 'write', maxTries: 1, ...KEYED }, (inputs) => {
          if (!works) throw endsAs('ambiguous');
          return inputs.map((input) => ({ got: input }));
        });
        const workspace = await testWorkspace({ tools: [counted.tool], chance: zeroChance() });
        const { run, result } = await runPlay(workspace, FIVE);
        expect(result).toEqual([null, null, null, null, null]);
        works = true;
        const later = await (again === undefined ? rerun(workspace, run) : again(workspace, run.id));
        expect(later.result).toEqual(ALL);
        expect(asked(counted)).toEqual([
          [0, 1, 2, 3, 4],
          [0, 1, 2, 3, 4],
        ]);
        expect(keys(counted)).toBe(1);
      }
    },
  );

  verifies(
    'BATCH-OUTCOMES-1',
    'is in doubt for a write that its answer does not know of, whatever the key',
    async () => {
      for (const parts of [{}, KEYED]) {
        const split = (value: { n: number }[]) =>
          value.map(({ n }) =>
            n === 2
              ? ({ status: 'failed', message: 'lost', ending: 'ambiguous' } as const)
              : ({ status: 'completed', data: n } as const),
          );
        const counted = batchedTool({ maxSize: 5, effect: 'write', split, ...parts }, (inputs) => inputs);
        const workspace = await testWorkspace({ tools: [counted.tool] });
        const { run, result } = await runPlay(workspace, FIVE);
        expect(result).toEqual([0, 1, null, 3, 4]);
        const [doubt, ...none] = await doubts(workspace, run.no);
        expect([doubt?.place.ordinal, none]).toEqual([2, []]);
        await retryFailed(workspace, run.id);
        expect(counted.sent).toHaveLength(1);
        await resolveOperation(workspace, run, { call: doubt?.callId ?? '', as: 'done', data: 'found' });
        expect((await retryFailed(workspace, run.id)).result).toEqual([0, 1, 'found', 3, 4]);
        expect(counted.sent).toHaveLength(1);
      }
    },
  );
});

describe('a run that ends around its batches', () => {
  verifies('BATCH-LEAVE-1', 'sends none that has not gone out, and the next attempt does', async () => {
    const counted = batchedTool({ maxSize: 9, maxWaitMs: 60_000 });
    const workspace = await testWorkspace({ tools: [counted.tool] });
    const run = await queued(workspace, FIVE);
    const held = latch();
    let asking = 0;
    const outcome = await withAsking(
      (n) => {
        asking++;
        return n === 4 ? held.opened : undefined;
      },
      async () => {
        const progress = await workspace.engine.start(run.id);
        await until(() => asking === 5);
        for (let turn = 0; turn < 50; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
        progress.interrupt();
        return progress.outcome;
      },
    );
    held.open();
    expect([outcome.kind, counted.sent]).toEqual(['interrupted', []]);
    expect((await attempt(workspace, run.id)).result).toEqual(ALL);
    expect(asked(counted)).toEqual([[0, 1, 2, 3, 4]]);
  });

  verifies('BATCH-LEAVE-1', 'records the one that is out', async () => {
    const answer = latch();
    const counted = batchedTool({ maxSize: 5 }, async (inputs) => {
      await answer.opened;
      return inputs.map((input) => ({ got: input }));
    });
    const workspace = await testWorkspace({ tools: [counted.tool] });
    const run = await queued(workspace, FIVE);
    const progress = await workspace.engine.start(run.id);
    await until(() => counted.sent.length === 1);
    progress.interrupt();
    answer.open();
    expect((await progress.outcome).kind).toBe('interrupted');
    expect((await attempt(workspace, run.id)).result).toEqual(ALL);
    expect(counted.sent).toHaveLength(1);
    expect(await settled(workspace, run)).toBe(5);
  });
});

describe('a provider that asks to wait for long', () => {
  verifies(
    ['BATCH-SAME-1', 'PACE-PARK-3'],
    'has the rows of a batch parked, and gets it as it was when it is time',
    async () => {
      const clock = new VirtualClock();
      const at: number[] = [];
      const counted = batchedTool({ maxSize: 5, ...KEYED }, (inputs) => {
        at.push(clock.now());
        if (at.length < 3) throw endsAs('deferred', { retryAfterMs: 90_000 });
        return inputs.map((input) => ({ got: input }));
      });
      const workspace = await openTest(testFolder(), { tools: [counted.tool], clock });
      const run = await queued(workspace, FIVE);
      const progress = await workspace.engine.start(run.id);
      let outcome: unknown;
      void progress.outcome.then((ended) => {
        outcome = ended;
      });
      while (outcome === undefined) await clock.advance(500);
      expect(outcome).toMatchObject({ kind: 'completed', result: ALL });
      expect(asked(counted)).toEqual(Array(3).fill([0, 1, 2, 3, 4]));
      expect(keys(counted)).toBe(3);
      const waits = at.slice(1).map((instant, index) => instant - (at[index] ?? 0));
      expect(waits).toEqual([expect.closeTo(90_000, -3), expect.closeTo(90_000, -3)]);
      const [operation] = (await workspace.store.calls.operations(run.no, 1, [0])).get(0) ?? [];
      expect(operation).toMatchObject({ tries: 2, refusals: 2, batch: { index: 0, size: 5 } });
      expect(await settled(workspace, run)).toBe(5);
    },
  );
});
