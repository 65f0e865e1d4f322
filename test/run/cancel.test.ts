import { describe, expect } from 'vitest';
import { LocalEngine } from '../../src/engine/index.ts';
import { type Clock, systemClock } from '../../src/scope/index.ts';
import type { Committer } from '../../src/store/index.ts';
import { existingRun, newRun, newWorker } from '../../src/workspace/index.ts';
import { countedTool, heldTool, until } from '../harness/tools.ts';
import { putFile, queued, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** A clock that stands still, and whose timers go off when the test moves it on; those of no length at once. */
function steppedClock(): Clock & { readonly step: (ms: number) => void } {
  const start = systemClock.now();
  let passed = 0;
  const timers = new Set<{ readonly at: number; readonly fn: () => void }>();
  return {
    now: () => start + passed,
    monotonic: () => passed,
    after: (ms, fn, options) => {
      if (ms < 100) return systemClock.after(ms, fn, options);
      const timer = { at: passed + ms, fn };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    step: (ms) => {
      passed += ms;
      for (const timer of [...timers].filter(({ at }) => at <= passed)) {
        timers.delete(timer);
        timer.fn();
      }
    },
  };
}

const ENOUGH_TURNS = 50;

describe('a run that is to be cancelled', () => {
  verifies(
    'CANCEL-PROMPT-1',
    'notices it within a second, and the lease is written no more often for that',
    async () => {
      const clock = steppedClock();
      const { tool, sent, open } = heldTool(() => true);
      const workspace = await testWorkspace({ tools: [tool], clock });
      let beats = 0;
      const committer: Committer = {
        commit: (unit) => {
          beats += unit.filter((write) => write.kind === 'heartbeat').length;
          return workspace.committer.commit(unit);
        },
        defer: (unit, told) => workspace.committer.defer(unit, told),
        flush: () => workspace.committer.flush(),
      };
      const engine = new LocalEngine({ ...workspace.deps, committer });
      const run = await queued(
        workspace,
        `(ctx) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: 1 } })`,
      );
      const progress = await engine.start(run.id);
      await until(() => sent.length === 1);
      const second = async (): Promise<void> => {
        clock.step(1_000);
        for (let turn = 0; turn < ENOUGH_TURNS; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      };
      for (let n = 0; n < 11; n++) await second();
      expect(beats).toBe(2);
      expect((await existingRun(workspace, run.id)).leaseUntil).toBe(clock.now() + 14_000);
      const ending = progress.view()?.context.ending;
      expect(await engine.cancel(run.id)).toBe('asked');
      expect(ending?.reason).toBeUndefined();
      await second();
      expect(ending?.reason).toEqual({ kind: 'cancelled' });
      open();
      expect((await progress.outcome).kind).toBe('cancelled');
    },
  );

  verifies('CANCEL-BORN-1', 'starts no child any more that does anything, before it notices itself', async () => {
    const clock = steppedClock();
    const hold = heldTool(() => true);
    const mail = countedTool({ id: 'acme.send' });
    const workspace = await testWorkspace({ tools: [hold.tool, mail.tool], clock });
    const play = putFile(
      workspace.paths.dir,
      'parent.play.ts',
      `import { definePlay } from 'callsheet';
      const child = definePlay('child', async (ctx, input) =>
        (await ctx.tools.execute({ id: 'x', tool: 'acme.send', input })).data);
      export default definePlay('parent', async (ctx) => {
        await ctx.runPlayAsync('before', child, { n: 1 });
        await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: 1 } });
        await ctx.runPlayAsync('after', child, { n: 2 });
      });`,
    );
    const { run } = await newRun(workspace, { play, cwd: workspace.paths.dir, input: {} });
    const progress = await workspace.engine.start(run.id);
    await until(() => hold.sent.length === 1);
    expect(await workspace.engine.cancel(run.id)).toBe('asked');
    hold.open();
    await progress.outcome;
    const born = await workspace.store.runs.childrenOf(run.id);
    expect(born.map(({ status, cancelRequested }) => [status, cancelRequested])).toEqual([
      ['queued', false],
      ['queued', true],
    ]);
    const worker = newWorker(workspace, { once: true, concurrency: 2, tell: () => {} });
    expect(await worker.work()).toMatchObject({ taken: 2, completed: 1, cancelled: 1 });
    expect((await workspace.store.runs.childrenOf(run.id)).map(({ status }) => status)).toEqual([
      'completed',
      'cancelled',
    ]);
    expect(mail.sent.map(({ input }) => input)).toEqual([{ n: 1 }]);
  });
});
