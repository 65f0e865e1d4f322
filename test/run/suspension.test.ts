import { describe, expect } from 'vitest';
import { laterClock } from '../harness/crash.ts';
import { countedTool, heldTool, until } from '../harness/tools.ts';
import { attempt, openTest, queued, runPlay, signal, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const HOUR = 3_600_000;

describe('a run that waits', () => {
  verifies(['SUSPEND-SLEEP-1', 'SUSPEND-OUTCOME-1'], 'sleeps over the end of its process, and goes on', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const began = workspace.clock.now();
    const source = `async (ctx) => {
      await ctx.tools.execute({ id: 'before', tool: 'acme.find', input: { n: 1 } });
      await ctx.sleep('1h');
      await ctx.tools.execute({ id: 'after', tool: 'acme.find', input: { n: 2 } });
      return 'done';
    }`;
    const first = await runPlay(workspace, source);
    expect([first.outcome.kind, first.run.status, first.run.owner, sent.length]).toEqual([
      'suspended',
      'waiting',
      null,
      1,
    ]);
    expect(Math.abs((first.run.wakeAt ?? 0) - began - HOUR)).toBeLessThan(60_000);
    const early = await attempt(workspace, first.run.id);
    expect([early.outcome.kind, early.run.wakeAt, sent.length]).toEqual(['suspended', first.run.wakeAt, 1]);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const last = await attempt(later, first.run.id);
    expect([last.result, last.run.status, sent.map(({ input }) => input.n)]).toEqual(['done', 'completed', [1, 2]]);
  });

  verifies('SUSPEND-PLACE-1', 'waits out in place what is over within two seconds', async () => {
    const workspace = await testWorkspace();
    const { run, result } = await runPlay(
      workspace,
      `async (ctx) => { await ctx.sleep(30); return [ctx.run.attempt, await ctx.waitForEvent('w', { event: 'go', timeout: 30 })]; }`,
    );
    expect([run.attempt, result]).toEqual([1, [1, null]]);
  });

  verifies(
    'SUSPEND-NEVER-THROWN-1',
    'is seen by no catch, finally, allSettled or loop, and cannot be made to look finished',
    async () => {
      const { tool, sent } = countedTool();
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const source = `async (ctx) => {
        const seen = [];
        const guarded = async (what, fn) => {
          for (let tries = 0; tries < 3; tries++) {
            try { seen.push(what, await fn()); return; } catch { seen.push('caught'); } finally { seen.push('finally'); }
          }
        };
        await Promise.allSettled([
          guarded('sleep', () => ctx.sleep('1h').then(() => 'slept')),
          guarded('event', () => ctx.waitForEvent('e', { event: 'go' })),
          guarded('step', () => ctx.step('s', async () => { await ctx.sleep('2h', { key: 'in' }); return 1; })),
        ]);
        await guarded('call', () => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: 1 } }).then(() => 'called'));
        return seen;
      }`;
      const first = await runPlay(workspace, source);
      expect([first.outcome.kind, first.run.status, first.run.result, sent.length]).toEqual([
        'suspended',
        'waiting',
        null,
        0,
      ]);
      expect(await workspace.store.report.boundariesOfRun(first.run.no, 10)).toEqual([]);
      await signal(workspace, { runId: first.run.id });
      const later = await openTest(dir, { tools: [tool], clock: laterClock(3 * HOUR) });
      const { result } = await attempt(later, first.run.id);
      expect([...result].filter((one: unknown) => one === 'caught')).toEqual([]);
      expect(result).toEqual(expect.arrayContaining(['sleep', 'slept', 'event', { ok: true }, 'step', 1, 'called']));
      expect([result.length, sent.length]).toEqual([12, 1]);
    },
  );

  verifies(
    'SUSPEND-FLIGHT-1',
    'records the calls that are out, starts none any more, and buys none of them again',
    async () => {
      const { tool, sent, open } = heldTool((n) => n < 3);
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const run = await queued(
        workspace,
        `async (ctx) => {
          const call = (n) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } }).then((r) => r.data);
          const out = Promise.all([0, 1, 2].map(call));
          await ctx.sleep('1h');
          return [await out, await call(3)];
        }`,
      );
      const progress = await workspace.engine.start(run.id);
      await until(() => sent.length === 3);
      open();
      expect((await progress.outcome).kind).toBe('suspended');
      expect(await workspace.store.calls.settledCredits(run.no)).toBe(3);
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect((await attempt(later, run.id)).result).toEqual([[0, 1, 2], 3]);
      expect(sent).toHaveLength(4);
    },
  );

  verifies('SUSPEND-FLIGHT-1', 'never starts the calls that still queued for their provider', async () => {
    const { tool, sent, open } = heldTool((n) => n < 2, { limits: { concurrency: 2 } });
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const run = await queued(
      workspace,
      `async (ctx) => {
        const call = (n) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } }).then((r) => r.data);
        const [calls] = await Promise.all([Promise.all([0, 1, 2, 3, 4].map(call)), ctx.sleep('1h')]);
        return calls;
      }`,
    );
    const progress = await workspace.engine.start(run.id);
    await until(() => sent.length === 2);
    while ((await workspace.store.report.waitsOfRuns({ runNo: run.no, limit: 1 })).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    open();
    expect([(await progress.outcome).kind, sent.length]).toEqual(['suspended', 2]);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    expect((await attempt(later, run.id)).result).toEqual([0, 1, 2, 3, 4]);
    expect(sent).toHaveLength(5);
  });

  verifies('SUSPEND-FLIGHT-1', 'starts nothing of what comes after a call that was out', async () => {
    const { tool, sent, open } = heldTool((n) => n === 0);
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const run = await queued(
      workspace,
      `async (ctx) => {
        const call = (input) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input }).then((r) => r.data);
        const { attempt } = ctx.run;
        const [pair] = await Promise.all([
          call({ n: 0 }).then(async (first) => [first, await call({ n: 1, attempt })]),
          ctx.sleep('1h'),
        ]);
        return pair;
      }`,
    );
    const progress = await workspace.engine.start(run.id);
    await until(() => sent.length === 1);
    while ((await workspace.store.report.waitsOfRuns({ runNo: run.no, limit: 1 })).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    open();
    expect((await progress.outcome).kind).toBe('suspended');
    // The attempt that comes at once starts it, since its code may go on past the sleep.
    expect(sent.map(({ input }) => input)).toEqual([{ n: 0 }, { n: 1, attempt: 2 }]);
  });

  verifies(
    'SUSPEND-RACE-1',
    'a race of an event and a sleep is won by the first, and the loser holds up nothing',
    async () => {
      for (const winner of ['event', 'sleep']) {
        const { tool, sent } = countedTool();
        const dir = testFolder();
        const workspace = await openTest(dir, { tools: [tool] });
        const first = await runPlay(
          workspace,
          `async (ctx) => {
          const won = await Promise.race([
            ctx.waitForEvent('w', { event: 'go' }).then(() => 'event'),
            // Reached when the event has suspended the run already.
            ctx.step('s', () => new Promise((resolve) => setTimeout(resolve, 60)))
              .then(() => ctx.sleep('1h')).then(() => 'sleep'),
          ]);
          for (let n = 0; n < 3; n++) await ctx.tools.execute({ id: won, tool: 'acme.find', input: { n } });
          await ctx.sleep(5);
          return won;
        }`,
        );
        expect([first.outcome.kind, sent.length]).toEqual(['suspended', 0]);
        expect(await workspace.store.runs.openWaits(first.run.no)).toMatchObject({
          events: [{ event: 'go', count: 1 }],
        });
        if (winner === 'event') await signal(workspace, { runId: first.run.id });
        const then = winner === 'event' ? workspace : await openTest(dir, { tools: [tool], clock: laterClock() });
        const last = await attempt(then, first.run.id);
        expect([last.result, last.run.status, sent.length]).toEqual([winner, 'completed', 3]);
      }
    },
  );

  verifies(
    'SUSPEND-RACE-2',
    'a race against a wait without end is won by work, which goes on in the next attempt',
    async () => {
      const { tool, sent } = countedTool();
      const workspace = await testWorkspace({ tools: [tool] });
      const { run, result } = await runPlay(
        workspace,
        `async (ctx) => {
        const call = (n) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } });
        const rows = () => ctx.dataset('rows', [{ n: 10 }, { n: 11 }]).withColumn('v', (row, ctx) =>
          ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } }).then((r) => r.data.got.n)).run();
        const won = [
          await Promise.race([ctx.waitForEvent('stop', { event: 'stop' }), call(1).then(() => 'call')]),
          await Promise.race([ctx.waitForEvent('stop2', { event: 'stop' }), rows().then(() => 'rows')]),
        ];
        await call(2);
        return won;
      }`,
      );
      expect([result, run.status]).toEqual([['call', 'rows'], 'completed']);
      expect(sent.map(({ input }) => input.n).sort()).toEqual([1, 10, 11, 2].sort());
    },
  );

  verifies(
    'SUSPEND-STEP-1',
    'records nothing around a wait: a step with one in it runs again, an await before it or not',
    async () => {
      const dir = testFolder();
      const workspace = await openTest(dir);
      const source = `async (ctx) => {
      const ran = [];
      const value = await ctx.step('outer', async () => {
        ran.push(ctx.run.attempt);
        await new Promise((resolve) => setTimeout(resolve, 5));
        await ctx.sleep('1h');
        return 'value';
      });
      return [value, ran];
    }`;
      const first = await runPlay(workspace, source);
      expect([first.outcome.kind, await workspace.store.report.boundariesOfRun(first.run.no, 10)]).toEqual([
        'suspended',
        [],
      ]);
      const later = await openTest(dir, { clock: laterClock() });
      expect((await attempt(later, first.run.id)).result).toEqual(['value', [2]]);
      const plain = await runPlay(
        workspace,
        `async (ctx) => {
        const slow = ctx.step('slow', () => new Promise((resolve) => setTimeout(() => resolve(7), 300)));
        await ctx.sleep('1h');
        return slow;
      }`,
      );
      const kept = await workspace.store.report.boundariesOfRun(plain.run.no, 10);
      expect([plain.outcome.kind, kept.map(({ label, value }) => [label, value])]).toEqual([
        'suspended',
        [['slow', '7']],
      ]);
    },
  );

  verifies('EVENT-TIMEOUT-1', 'a time-out gives null, ends the run past every catch, or is none', async () => {
    const dir = testFolder();
    const workspace = await openTest(dir);
    const play = (policy: string) => `async (ctx) => {
      try { return await ctx.waitForEvent('w', { event: 'go', timeout: '1h', onTimeout: '${policy}' }); } catch { return 'caught'; }
    }`;
    const later = await openTest(dir, { clock: laterClock(2 * HOUR) });
    const ended = async (policy: string) => {
      const first = await runPlay(workspace, play(policy));
      expect(first.outcome.kind).toBe('suspended');
      return attempt(later, first.run.id);
    };
    expect((await ended('null')).result).toBe(null);
    const failed = await ended('fail');
    expect([failed.run.status, failed.code]).toEqual(['failed', 'EVENT_TIMED_OUT']);
    const parked = await ended('park');
    expect([parked.run.status, parked.run.wakeAt]).toEqual(['waiting', null]);
    await signal(workspace, { runId: parked.run.id, data: '7' });
    expect((await attempt(later, parked.run.id)).result).toBe(7);
  });

  verifies(
    'EVENT-DELIVERY-1',
    'an answer that comes before its wait is kept for it, one that comes late finds the time-out',
    async () => {
      const dir = testFolder();
      const workspace = await openTest(dir);
      const early = await queued(workspace, `async (ctx) => ctx.waitForEvent('w', { event: 'go' })`);
      await signal(workspace, { runId: early.id, event: 'other' });
      await signal(workspace, { runId: early.id, data: '1' });
      expect((await attempt(workspace, early.id)).result).toBe(1);
      await expect(signal(workspace, { runId: early.id })).rejects.toMatchObject({ what: 'run-finished' });

      const late = await runPlay(
        workspace,
        `async (ctx) => [await ctx.waitForEvent('w', { event: 'go', timeout: '1h' }), await ctx.waitForEvent('v', { event: 'go' })]`,
      );
      const later = await openTest(dir, { clock: laterClock() });
      expect((await attempt(later, late.run.id)).outcome.kind).toBe('suspended');
      await signal(later, { runId: late.run.id, data: '2' });
      expect((await attempt(later, late.run.id)).result).toEqual([null, 2]);
    },
  );

  verifies('SUSPEND-WAKE-1', 'an answer that comes while the attempt is ending is not slept through', async () => {
    const workspace = await testWorkspace();
    const run = await queued(workspace, `async (ctx) => ctx.waitForEvent('w', { event: 'go' })`);
    const { runs } = workspace.store;
    const openWaits = runs.openWaits.bind(runs);
    let told = false;
    runs.openWaits = async (runNo) => {
      const open = await openWaits(runNo);
      if (!told) await signal(workspace, { runId: run.id, data: '3' });
      told = true;
      return open;
    };
    expect((await attempt(workspace, run.id)).result).toBe(3);
  });

  verifies(
    'SUSPEND-FATAL-1',
    'a run-fatal error stands over a wait, and what is asked wrongly is refused',
    async () => {
      const { tool } = countedTool();
      const workspace = await testWorkspace({ tools: [tool] });
      const source = `async (ctx) => {
      const call = (n) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } }).catch(() => 'caught');
      await Promise.all([ctx.sleep('1h'), call(1), call(2)]);
    }`;
      expect((await runPlay(workspace, source, { maxCredits: 1 })).code).toBe('OUT_OF_CREDITS');
      for (const wrong of [
        `ctx.sleep('soon')`,
        `ctx.sleep(-1)`,
        `ctx.waitForEvent('', { event: 'go' })`,
        `ctx.waitForEvent('w', {})`,
        `ctx.waitForEvent('w', { event: 'go', timeout: 'x' })`,
        `ctx.waitForEvent('w', { event: 'go', onTimeout: 'explode' })`,
      ])
        expect([wrong, (await runPlay(workspace, `async (ctx) => ${wrong}`)).code]).toEqual([
          wrong,
          'CALL_REQUEST_INVALID',
        ]);
    },
  );
});
