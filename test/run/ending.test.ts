import { readFileSync } from 'node:fs';

import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { exportDataset, shownStatus } from '../../src/report/index.ts';
import { assertResumable, existingRun, reportSource } from '../../src/workspace/index.ts';
import { fastClock, zeroChance } from '../harness/crash.ts';
import { countedTool, endsAs, heldTool, latch, ROWS, until } from '../harness/tools.ts';
import { attempt, queued, runPlay, settled, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

describe('interrupting', () => {
  verifies(
    ['RUN-INTERRUPT-1', 'RUN-CANCEL-1'],
    'and cancelling start nothing more, record what is out, keep finished rows',
    async () => {
      for (const how of ['interrupt', 'cancel'] as const) {
        const { tool, sent, open } = heldTool((n) => n === 2 || n === 3);
        const clock = fastClock(50);
        const workspace = await testWorkspace({ tools: [tool], clock });
        const run = await queued(workspace, ROWS);
        const progress = await workspace.engine.start(run.id);
        await until(() => sent.length === 4);
        if (how === 'interrupt') progress.interrupt();
        else {
          expect(await workspace.engine.cancel(run.id)).toBe('asked');
          await until(() => progress.view()?.context.ending.reason !== undefined);
        }
        open();
        const outcome = await progress.outcome;
        expect(outcome.kind).toBe(how === 'interrupt' ? 'interrupted' : 'cancelled');
        expect(sent).toHaveLength(4);
        expect(await workspace.store.report.listReceipts({ limit: 10 })).toHaveLength(4);
        expect(await settled(workspace, run)).toBe(4);
        const record = await existingRun(workspace, run.id);
        expect(shownStatus(record, clock.now())).toBe(how === 'interrupt' ? 'interrupted' : 'cancelled');
        expect(record.owner).toBeNull();
        const path = join(workspace.paths.dir, 'out.csv');
        await exportDataset(reportSource(workspace), record, { path, rows: 'completed' });
        expect(readFileSync(path, 'utf8')).toBe('n,v\n0,0\n1,1\n2,2\n3,3\n');
        if (how === 'cancel') {
          await expect(assertResumable(reportSource(workspace), record, false)).rejects.toMatchObject({
            code: 'RUN_NOT_RESUMABLE',
          });
          continue;
        }
        const resumed = await attempt(workspace, run.id);
        expect(resumed.result).toEqual([0, 1, 2, 3, 4, 5]);
        expect(sent).toHaveLength(6);
      }
    },
  );

  verifies(
    'RUN-CANCEL-1',
    'a run that nobody works on is cancelled at once, and a finished one not at all',
    async () => {
      const workspace = await testWorkspace();
      const run = await queued(workspace, `async () => 1`);
      expect(await workspace.engine.cancel(run.id)).toBe('cancelled');
      expect((await existingRun(workspace, run.id)).status).toBe('cancelled');
      await expect(workspace.engine.cancel(run.id)).rejects.toMatchObject({ code: 'RUN_NOT_RESUMABLE' });
      await expect(workspace.engine.cancel('run_none')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      await expect(workspace.engine.start('run_none')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    },
  );

  verifies(
    'RUN-INTERRUPT-1',
    'while calls wait for a permit, a retry or a leader ends at once and buys nothing',
    async () => {
      const { tool, sent } = countedTool({ limits: { rate: [{ calls: 1, per: '1h' }] } });
      const flaky = countedTool({ id: 'flaky.find' }, () => {
        throw endsAs('notDispatched');
      });
      const config = `import { defineConfig } from 'callsheet'; export default defineConfig({ providerMaxWait: '2h' });`;
      const zero = zeroChance();
      const workspace = await testWorkspace({
        tools: [tool, flaky.tool],
        files: { 'callsheet.config.ts': config },
        // The longest wait between tries, on a clock by which it takes longer than this test may.
        clock: fastClock(1 / 60),
        chance: { bytes: (count) => (count === 4 ? new Uint8Array(4).fill(255) : zero.bytes(count)) },
      });
      const run = await queued(
        workspace,
        `async (ctx) => {
        const call = (tool, n) => ctx.tools.execute({ id: 'x', tool, input: { n } }).then(() => 1, (error) => error.code);
        return Promise.all([call('acme.find', 0), call('acme.find', 1), call('acme.find', 1), call('acme.find', 2), call('flaky.find', 0)]);
      }`,
      );
      const progress = await workspace.engine.start(run.id);
      await until(() => workspace.calls.governor.waits().some(({ waiting }) => waiting === 2) && flaky.sent.length > 0);
      progress.interrupt();
      expect((await progress.outcome).kind).toBe('interrupted');
      expect(sent).toHaveLength(1);
      expect(workspace.calls.governor.waits()).toEqual([]);
      const failed = await workspace.store.report.failedCalls(run.no, 10);
      expect(failed).toEqual([]);
    },
  );

  verifies(
    'RUN-INTERRUPT-1',
    'twice ends what is out now: a read is asked again on resume, a write is in doubt',
    async () => {
      const read = heldTool(() => read.sent.length === 1, { maxTries: 1 });
      const write = heldTool(() => true, { id: 'acme.send', effect: 'write' });
      const workspace = await testWorkspace({ tools: [read.tool, write.tool] });
      const run = await queued(
        workspace,
        `async (ctx) => {
        const call = (tool) => ctx.tools.execute({ id: 'x', tool, input: { n: 1 } }).then(() => 'fine', (error) => error.code);
        return Promise.all([call('acme.find'), call('acme.send')]);
      }`,
      );
      const progress = await workspace.engine.start(run.id);
      await until(() => read.sent.length + write.sent.length === 2);
      progress.interrupt();
      progress.interrupt();
      expect((await progress.outcome).kind).toBe('interrupted');
      const resumed = await attempt(workspace, run.id);
      expect(resumed.result).toEqual(['fine', 'IN_DOUBT']);
      expect([read.sent.length, write.sent.length]).toEqual([2, 1]);
    },
  );

  verifies(
    ['RUN-INTERRUPT-1', 'CTX-STEP-1'],
    'keeps a step that ends in time, and does not wait for ever for one that does not',
    async () => {
      const { tool, sent, open } = heldTool((n) => n === 1);
      const workspace = await testWorkspace({ tools: [tool], clock: fastClock(50) });
      const run = await queued(
        workspace,
        `async (ctx) => {
        const value = await ctx.step('inner', async () => {
          globalThis.innerRuns = (globalThis.innerRuns ?? 0) + 1;
          await globalThis.innerGate;
          return globalThis.innerRuns;
        });
        await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: 2 } });
        return ctx.run.attempt < 3 ? ctx.step('hangs', () => ctx.run.attempt < 3 ? new Promise(() => {}) : 1) : value;
      }`,
      );
      const gate = latch();
      Object.assign(globalThis, { innerGate: gate.opened });
      const progress = await workspace.engine.start(run.id);
      await until(() => 'innerRuns' in globalThis);
      progress.interrupt();
      gate.open();
      expect((await progress.outcome).kind).toBe('interrupted');
      expect(sent).toHaveLength(0);
      const second = await workspace.engine.start(run.id);
      await until(() => sent.length === 1);
      await new Promise<void>((resolve) => setImmediate(resolve));
      second.interrupt();
      expect((await second.outcome).kind).toBe('interrupted');
      expect((await attempt(workspace, run.id)).result).toBe(1);
      expect(sent).toHaveLength(1);
      open();
      Reflect.deleteProperty(globalThis, 'innerRuns');
      Reflect.deleteProperty(globalThis, 'innerGate');
    },
  );

  verifies('RUN-STATES-1', 'a time-out of the play ends one whose step never comes back', async () => {
    const workspace = await testWorkspace({ clock: fastClock(200) });
    const { code } = await runPlay(workspace, `(ctx) => ctx.step('hangs', () => new Promise(() => {}))`, {
      options: `{ runtime: { timeout: '1s' } }`,
    });
    expect(code).toBe('PLAY_TIMEOUT');
  });
});

describe('what a play does not await', () => {
  verifies('RUN-UNAWAITED-1', 'is awaited and recorded before the run ends; its failure is a warning', async () => {
    const { tool, sent, open } = heldTool((n) => n > 0);
    const failing = countedTool({ id: 'acme.fail' }, async () => {
      await new Promise<void>((resolve) => setImmediate(resolve));
      throw endsAs('rejected');
    });
    const workspace = await testWorkspace({ tools: [tool, failing.tool], chance: zeroChance() });
    const run = await queued(
      workspace,
      `async (ctx) => {
        void ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: 1 } });
        void ctx.tools.execute({ id: 'x', tool: 'acme.fail', input: { n: 1 } });
        void ctx.dataset('rows', [{ n: 0 }]).withColumn('v', async (row, ctx) => { void ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: 2 } }); return 1; }).run();
        await ctx.tools.execute({ id: 'y', tool: 'acme.find', input: { n: 0 } });
        return 'returned';
      }`,
    );
    const running = attempt(workspace, run.id);
    await until(() => sent.length === 3 && failing.sent.length === 1);
    open();
    const { result } = await running;
    expect(result).toBe('returned');
    expect(await settled(workspace, run)).toBe(3);
    expect(await workspace.store.datasets.rowCounts(run.no, 1)).toMatchObject({ completed: 1, credits: 1 });
    const failed = await workspace.store.report.failedCalls(run.no, 10);
    expect(failed.map((call) => call.tool)).toEqual(['acme.fail']);
  });

  verifies('RUN-UNAWAITED-1', 'and fails after the play has returned is told', async () => {
    const { tool, sent } = countedTool({}, async () => {
      for (let turn = 0; turn < 50; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      throw endsAs('rejected');
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { result, events } = await runPlay(
      workspace,
      `async (ctx) => {
        void ctx.tools.execute({ id: 'x', tool: 'acme.find', input: {} });
        for (let n = 0; n < 3; n++) await ctx.now();
        return 'returned';
      }`,
    );
    expect(result).toBe('returned');
    expect(sent).toHaveLength(1);
    const told = events.filter(({ type }) => type === 'play.unawaited');
    expect(told.map(({ level }) => level)).toEqual(['warn', 'warn']);
    expect(told[0]?.message).toContain('before 1 of its calls had ended');
    expect(told[1]?.message).toContain('acme.find');
  });

  verifies(
    'RUN-UNAWAITED-1',
    'and rejects on its own is a warning, and what it throws outside promises ends the run',
    async () => {
      // The test runner's own watchers would end the test.
      const runners = (['unhandledRejection', 'uncaughtException'] as const).flatMap((event) =>
        process
          .listeners(event as 'uncaughtException')
          .filter(({ name }) => name !== 'onRejection' && name !== 'onException')
          .map((listener) => ({ event: event as 'uncaughtException', listener })),
      );
      for (const { event, listener } of runners) process.off(event, listener);
      try {
        const workspace = await testWorkspace();
        const first = await runPlay(
          workspace,
          `async (ctx) => {
          void Promise.reject(new Error('stray'));
          await ctx.now();
          await ctx.now('again');
          return 'fine';
        }`,
        );
        expect(first.result).toBe('fine');
        expect(first.events.filter(({ type }) => type === 'play.unawaited').map(({ message }) => message)).toEqual([
          'Something that the play did not await failed: Error: stray',
        ]);
        const second = await runPlay(
          workspace,
          `() => new Promise(() => { setImmediate(() => { throw new Error('outside'); }); })`,
        );
        expect([second.code, second.run.status]).toEqual(['PLAY_THREW', 'failed']);
      } finally {
        for (const { event, listener } of runners) process.on(event, listener);
      }
    },
  );
});
