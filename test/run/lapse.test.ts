import { describe, expect } from 'vitest';
import { type Clock, systemClock } from '../../src/scope/index.ts';
import { existingRun, newWorker, type RunRecord, type Workspace } from '../../src/workspace/index.ts';
import { crashingEngine, laterClock } from '../harness/crash.ts';
import { countedTool, heldTool, ROWS, until } from '../harness/tools.ts';
import { attempt, openTest, queued, settled, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const PAUSE_MS = 20_000;

/** The clock of a process that can be paused: no timer of a second or more goes off by itself, as none does in a pause. */
function pausable(): Clock & { readonly pause: () => void } {
  let ahead = 0;
  return {
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
    after: (ms, fn, options) => systemClock.after(ms < 1_000 ? ms : ms * 1_000, fn, options),
    pause: () => {
      ahead += PAUSE_MS;
    },
  };
}

/** Six rows, two at a time, whose process is paused while the first two are out; `open` lets them end. */
async function pausedRun(dir = testFolder()) {
  const clock = pausable();
  const { tool, sent, open } = heldTool((n) => n === 0);
  const second = heldTool((n) => n === 1, { id: 'acme.other' });
  const workspace = await openTest(dir, { tools: [tool, second.tool], clock });
  const run = await queued(
    workspace,
    ROWS.replace("tool: 'acme.find'", "tool: row.n === 1 ? 'acme.other' : 'acme.find'"),
  );
  const asked = (): number => sent.length + second.sent.length;
  const tools = [tool, second.tool];
  return { dir, clock, workspace, run, tools, asked, openFirst: open, openSecond: second.open };
}

const recordOf = (workspace: Workspace, { id }: RunRecord) => existingRun(workspace, id);

describe('a run whose process was paused for longer than its lease', () => {
  verifies('RUN-LAPSE-1', 'goes on in that process as the next attempt, and buys nothing twice', async () => {
    const { clock, workspace, run, asked, openFirst, openSecond } = await pausedRun();
    const progress = await workspace.engine.start(run.id);
    await until(() => asked() === 2);
    clock.pause();
    openFirst();
    openSecond();
    expect(await progress.outcome).toEqual({ kind: 'completed', result: [0, 1, 2, 3, 4, 5] });
    expect(asked()).toBe(6);
    expect(await settled(workspace, run)).toBe(6);
    expect(await recordOf(workspace, run)).toMatchObject({ status: 'completed', attempt: 2, error: null });
  });

  verifies('RUN-LAPSE-1', 'is left to any worker where that process does not go on', async () => {
    const { dir, clock, workspace, run, tools, asked, openFirst, openSecond } = await pausedRun();
    const { engine, dead } = crashingEngine(workspace, (write) => write.kind === 'lease' && write.attempt === 2);
    await engine.start(run.id);
    await until(() => asked() === 2);
    clock.pause();
    openFirst();
    openSecond();
    await dead;
    const left = await recordOf(workspace, run);
    expect(left).toMatchObject({ status: 'running', attempt: 1, error: null, finishedAt: null });
    expect(left.leaseUntil).toBeLessThanOrEqual(clock.now());
    expect(await settled(workspace, run)).toBe(2);
    const other = await openTest(dir, { tools, clock });
    const worker = newWorker(other, { once: true, concurrency: 1, tell: () => {} });
    expect(await worker.work()).toMatchObject({ taken: 1, completed: 1 });
    expect(await recordOf(workspace, run)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(asked()).toBe(6);
  });

  verifies('RUN-LAPSE-1', 'is not touched any more where somebody else has taken it', async () => {
    const { dir, clock, workspace, run, tools, openFirst, openSecond, asked } = await pausedRun();
    const progress = await workspace.engine.start(run.id);
    await until(() => asked() === 2);
    clock.pause();
    const other = await openTest(dir, { tools, clock: laterClock() });
    const next = await other.engine.start(run.id);
    await until(() => asked() === 4);
    const before = await recordOf(other, run);
    openFirst();
    openSecond();
    expect(await progress.outcome).toMatchObject({ kind: 'failed', error: { code: 'STALE_ATTEMPT' } });
    expect(before).toMatchObject({ attempt: 2, status: 'running' });
    expect((await next.outcome).kind).toBe('completed');
    expect(await recordOf(other, run)).toMatchObject({ status: 'completed', attempt: 2 });
  });

  for (const how of ['interrupt', 'cancel'] as const)
    verifies('RUN-LAPSE-1', `heeds who wants to ${how} it before it goes on`, async () => {
      const { clock, workspace, run, asked, openFirst, openSecond } = await pausedRun();
      const progress = await workspace.engine.start(run.id);
      await until(() => asked() === 2);
      const ending = progress.view()?.context.ending;
      clock.pause();
      // Its row is done, and the call of the next finds that the lease is over, while the other is still out.
      openFirst();
      await until(() => ending?.reason?.kind === 'lapsed');
      if (how === 'interrupt') progress.interrupt();
      else ending?.cancel();
      openSecond();
      expect((await progress.outcome).kind).toBe(how === 'interrupt' ? 'interrupted' : 'cancelled');
      expect(await recordOf(workspace, run)).toMatchObject({
        status: how === 'interrupt' ? 'running' : 'cancelled',
        owner: null,
        attempt: 1,
      });
      expect(asked()).toBe(2);
      expect(await settled(workspace, run)).toBe(2);
    });

  verifies('RUN-LAPSE-1', 'by its own play each time is not begun for ever, and can be resumed', async () => {
    const clock = pausable();
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool], clock });
    const run = await queued(
      workspace,
      `async (ctx) => {
        globalThis.blocks?.();
        await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: {} });
        return 'done';
      }`,
    );
    Object.assign(globalThis, { blocks: clock.pause });
    try {
      await expect(attempt(workspace, run.id)).rejects.toMatchObject({
        code: 'STALE_ATTEMPT',
        next: expect.arrayContaining([`callsheet runs resume ${run.id}`]),
      });
    } finally {
      Reflect.deleteProperty(globalThis, 'blocks');
    }
    expect(sent).toEqual([]);
    expect(await recordOf(workspace, run)).toMatchObject({ status: 'running', attempt: 4, error: null });
    expect((await attempt(workspace, run.id)).result).toBe('done');
  });
});
