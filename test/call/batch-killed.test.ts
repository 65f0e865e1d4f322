import { describe, expect } from 'vitest';
import { Claims } from '../../src/call/index.ts';
import { LocalEngine } from '../../src/engine/index.ts';
import type { FunctionBatch } from '../../src/sdk/index.ts';
import type { Committer } from '../../src/store/index.ts';
import { existingRun, resolveOperation, resumeOptions, type Workspace } from '../../src/workspace/index.ts';
import { crash, crashingEngine, laterClock } from '../harness/crash.ts';
import { diedInRates } from '../harness/rates.ts';
import { batchedTool, latch } from '../harness/tools.ts';
import { attempt, creditsShown, openTest, retryFailed, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const GOES_ON = { 'callsheet.config.json': '{ "continueOnContractError": true }' };
const KEY = { idempotency: { header: 'Idempotency-Key' } };
const ROWS = `async (ctx) => {
  const rows = await ctx.dataset('rows', [0, 1, 2].map((n) => ({ n }))).withColumn('v', async (row, ctx) =>
    (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data).run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.v ?? null);
}`;

const THREE_AND_ONE = `async (ctx) => {
  const ask = (n) => ctx.tools.execute({ id: 'q' + n, tool: 'acme.find', input: { n } });
  const ends = await Promise.allSettled([0, 1, 2].map(ask));
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  await ask(3);
  return 4;
}`;

type Split = NonNullable<FunctionBatch<unknown>['split']>;
const completed: Split = (answer) => (answer as number[]).map((data) => ({ status: 'completed', data }));
/** All but the first question end so. */
const failing =
  (ending: 'rejected' | 'ambiguous'): Split =>
  (answer) =>
    (answer as number[]).map((data) =>
      data === 0 ? { status: 'completed', data } : { status: 'failed', message: 'not this one', ending },
    );

/** A provider that does all that it is asked, and may be stopped while it answers; each workspace reads it by a split of its own. */
function provider(parts: object = {}) {
  const isOut = latch();
  const state = { hangs: false, charged: 0, keys: new Set<string>() };
  const dir = testFolder(GOES_ON);
  const open = (split: Split, clock = {}): Promise<Workspace> => {
    const { tool } = batchedTool({ maxSize: 3, split, ...parts }, async (inputs, { operationKey }) => {
      const isRepeat = 'idempotency' in parts && state.keys.has(operationKey);
      state.keys.add(operationKey);
      if (!isRepeat) state.charged += inputs.length;
      if (state.hangs) {
        isOut.open();
        await new Promise(() => {});
      }
      return inputs.map(({ n }) => n);
    });
    return openTest(dir, { tools: [tool], ...clock });
  };
  return { open, state, isOut };
}

/** `runs resume --retry-failed` that dies while a batch is out. */
async function killedRetry(now: Workspace, runId: string, { state, isOut }: ReturnType<typeof provider>) {
  state.hangs = true;
  await resumeOptions(now, await existingRun(now, runId), { retryFailed: true });
  const { engine, die } = crashingEngine(now, () => false);
  void engine.start(runId);
  await isOut.opened;
  die();
  state.hangs = false;
}

async function resolveAll(workspace: Workspace, runId: string, as: 'done' | 'notDone'): Promise<void> {
  const run = await existingRun(workspace, runId);
  for (const { callId, state } of await workspace.store.report.operationsOfRun(run.no, 9))
    if (state === 'intended')
      await resolveOperation(workspace, run, { call: callId, as, data: as === 'done' ? 7 : null });
}

/** An engine whose process is not told that its entries are durable. */
function deafEngine(workspace: Workspace): LocalEngine {
  const real = workspace.committer;
  const committer: Committer = {
    commit: (unit) => real.commit(unit),
    defer: (unit, settled) => real.defer(unit, unit.some(({ kind }) => kind === 'call') ? () => {} : settled),
    flush: () => real.flush(),
  };
  return new LocalEngine({
    ...workspace.deps,
    committer,
    calls: { ...workspace.deps.calls, committer, claims: new Claims() },
  });
}

describe('members that were refused, and are out again at a kill', () => {
  for (const effect of ['read', 'write'] as const)
    verifies(['BATCH-REFUSED-1', 'BATCH-KILLED-1'], `may have been done: a ${effect} without a key`, async () => {
      const acme = provider({ effect });
      const now = await acme.open(failing('rejected'));
      const { run } = await runPlay(now, ROWS, { maxCredits: effect === 'read' ? 3 : 9 });
      // The provider charges those that it refused nothing.
      acme.state.charged = 1;
      await killedRetry(now, run.id, acme);
      const later = await acme.open(completed, { clock: laterClock() });
      for (let again = 0; again < 2; again++) {
        await retryFailed(later, run.id);
        expect([acme.state.charged, await creditsShown(later, run.id)]).toEqual([3, { settled: 1, unknown: 2 }]);
      }
    });
});

describe('members that are in doubt', () => {
  verifies(
    'BATCH-KILLED-1',
    'go on under their key where they were said to be not done, and are out at a kill',
    async () => {
      const acme = provider({ effect: 'write', ...KEY });
      const now = await acme.open(failing('ambiguous'));
      const { run } = await runPlay(now, ROWS, { maxCredits: 3 });
      await resolveAll(now, run.id, 'notDone');
      acme.state.charged = 1;
      await killedRetry(now, run.id, acme);
      const later = await acme.open(completed, { clock: laterClock() });
      expect(await creditsShown(later, run.id)).toEqual({ settled: 1, unknown: 2 });
      expect((await attempt(later, run.id)).result).toEqual([0, 1, 2]);
      expect([acme.state.charged, await creditsShown(later, run.id)]).toEqual([3, { settled: 3, unknown: 0 }]);
    },
  );

  verifies(
    ['BATCH-REFUSED-3', 'BATCH-KILLED-1'],
    'and said to be done count once, whenever the run is killed',
    async () => {
      const acme = provider({ effect: 'write' });
      const now = await acme.open(failing('ambiguous'));
      const { run } = await runPlay(now, ROWS, { maxCredits: 3 });
      await resolveAll(now, run.id, 'done');
      await resumeOptions(now, await existingRun(now, run.id), { retryFailed: true });
      await crash(now, run.id, (write) => write.kind === 'row');
      const later = await acme.open(completed, { clock: laterClock() });
      const { settled, unknown } = await creditsShown(later, run.id);
      expect(settled + unknown).toBe(3);
      expect((await attempt(later, run.id)).result).toEqual([0, 7, 7]);
      expect([acme.state.charged, await creditsShown(later, run.id)]).toEqual([3, { settled: 3, unknown: 0 }]);
      expect(await later.store.calls.unsettledReceipts(run.no)).toEqual([]);
    },
  );
});

verifies(
  ['CALL-CONTRACT-3', 'BATCH-KILLED-1'],
  'what is read by a mended tool is settled once, though the process dies as it becomes durable',
  async () => {
    const acme = provider({ cost: { credits: () => 1, max: 2 } });
    const now = await acme.open(() => {
      throw new Error('junk');
    });
    const { run } = await runPlay(now, THREE_AND_ONE, { maxCredits: 8 });
    const dying = await acme.open(completed);
    await resumeOptions(dying, await existingRun(dying, run.id), { retryFailed: true });
    acme.state.hangs = true;
    void deafEngine(dying).start(run.id);
    await acme.isOut.opened;
    acme.state.hangs = false;
    diedInRates(dying.paths.rates);
    const later = await acme.open(completed, { clock: laterClock() });
    expect([acme.state.charged, await creditsShown(later, run.id)]).toEqual([4, { settled: 3, unknown: 2 }]);
    // There is room for the one that was out to be asked again.
    expect((await attempt(later, run.id)).result).toBe(4);
    expect([acme.state.charged, await creditsShown(later, run.id)]).toEqual([5, { settled: 4, unknown: 2 }]);
  },
);
