import { describe, expect } from 'vitest';
import type { NewSignal } from '../../src/store/index.ts';
import type { Workspace } from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { countedTool, heldTool, until } from '../harness/tools.ts';
import { attempt, openTest, queued, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const HOUR = 3_600_000;

/** Answers a wait, as `callsheet signal` does. */
async function signal(workspace: Workspace, more: Partial<NewSignal>): Promise<void> {
  const plain = { runId: null, event: 'go', rowKey: null, waitNo: null, all: false, data: '{"ok":true}' };
  await workspace.committer.commit([{ kind: 'signal', signal: { ...plain, at: workspace.clock.now(), ...more } }]);
}

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

describe('rows that wait', () => {
  const rows = (resolver: string, options = '{ concurrency: 2, key: "n" }', count = 6) => `async (ctx) => {
    const rows = await ctx.dataset('rows', Array.from({ length: ${count} }, (_, n) => ({ n })))
      .withColumn('v', ${resolver}).run(${options});
    return (await rows.materialize()).map((row) => row.v);
  }`;

  verifies('SUSPEND-ROW-1', 'are parked while the others go on; the answer reaches its row', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const first = await runPlay(
      workspace,
      rows(`async (row, ctx) => {
        const { data } = await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } });
        return row.n % 2 === 0 ? data.got.n : (await ctx.waitForEvent('ok', { event: 'go' })).n;
      }`),
    );
    expect([first.outcome.kind, sent.length]).toEqual(['suspended', 6]);
    expect(first.outcome).toMatchObject({ wakeAt: null, events: [{ event: 'go', count: 3 }] });
    expect(await workspace.store.datasets.rowCounts(first.run.no, 1)).toMatchObject({ completed: 3, parked: 3 });
    expect(await workspace.store.calls.settledCredits(first.run.no)).toBe(6);
    await expect(signal(workspace, { runId: first.run.id })).rejects.toMatchObject({ what: 'signal-several' });
    await signal(workspace, { runId: first.run.id, rowKey: '3', data: '{"n":33}' });
    await signal(workspace, { runId: first.run.id, rowKey: '1', data: '{"n":11}' });
    expect((await attempt(workspace, first.run.id)).outcome).toMatchObject({ events: [{ event: 'go', count: 1 }] });
    await signal(workspace, { runId: first.run.id, rowKey: '5', data: '{"n":55}' });
    const last = await attempt(workspace, first.run.id);
    expect([last.result, sent.length]).toEqual([[0, 11, 2, 33, 4, 55], 6]);
    expect(await workspace.store.datasets.rowCounts(first.run.no, 1)).toMatchObject({ completed: 6, credits: 6 });
  });

  verifies('SUSPEND-READMIT-1', 'are admitted again in the same attempt when their wait is over', async () => {
    const { tool, sent, open } = heldTool((n) => n === 5);
    const workspace = await testWorkspace({ tools: [tool] });
    const run = await queued(
      workspace,
      rows(`async (row, ctx) => {
        const { data } = await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } });
        if (row.n === 0) await ctx.sleep(2_500);
        return row.n < 3 ? [data, (await ctx.waitForEvent('ok', { event: 'go' })).n, ctx.run.attempt] : data;
      }`),
    );
    const progress = await workspace.engine.start(run.id);
    const states = async () => workspace.store.datasets.rowCounts(run.no, 1);
    while ((await states()).parked < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await signal(workspace, { runId: run.id, all: true, data: '{"n":9}' });
    await signal(workspace, { runId: run.id, rowKey: '0', data: '{"n":9}' });
    while ((await states()).completed < 5) await new Promise((resolve) => setTimeout(resolve, 5));
    open();
    expect(await progress.outcome).toMatchObject({
      kind: 'completed',
      result: [[0, 9, 1], [1, 9, 1], [2, 9, 1], 3, 4, 5],
    });
    expect(progress.view()?.context.datasets.progress()[0]).toMatchObject({ completed: 6, waiting: 0, credits: 6 });
    expect(sent).toHaveLength(6);
  });

  verifies('SUSPEND-MAXPARKED-1', 'are no more than maxParked, and no row starts past them', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const first = await runPlay(
      workspace,
      rows(
        `async (row, ctx) => {
          await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } });
          return (await ctx.waitForEvent('ok', { event: 'go' })).ok;
        }`,
        '{ concurrency: 2, maxParked: 4, key: "n" }',
        9,
      ),
    );
    // Rows that are in flight already may still come to wait: two at a time, so one more at most.
    expect([first.outcome.kind, sent.length]).toEqual(['suspended', 5]);
    await signal(workspace, { runId: first.run.id, all: true });
    const next = await attempt(workspace, first.run.id);
    expect([next.outcome.kind, sent.length]).toEqual(['suspended', 9]);
    await signal(workspace, { runId: first.run.id, all: true });
    expect((await attempt(workspace, first.run.id)).result).toEqual(Array(9).fill(true));
    expect(sent).toHaveLength(9);
  });

  verifies('SUSPEND-STILL-1', 'are left alone by an attempt in which nothing of theirs has happened', async () => {
    const workspace = await testWorkspace();
    const first = await runPlay(
      workspace,
      rows(`async (row, ctx) => {
        console.log('row', row.n, ctx.run.attempt);
        await ctx.waitForEvent('first', { event: 'one' });
        return (await ctx.waitForEvent('second', { event: 'two' })).ok;
      }`),
    );
    await signal(workspace, { runId: first.run.id, event: 'one', rowKey: '3' });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const second = await attempt(workspace, first.run.id);
    const ran = (events: typeof second.events) =>
      events.filter(({ type }) => type === 'console').map(({ message }) => message);
    expect([ran(first.events).length, ran(second.events)]).toEqual([6, ['row 3 2']]);
    expect(second.outcome).toMatchObject({
      events: [
        { event: 'one', count: 5 },
        { event: 'two', count: 1 },
      ],
    });
    await signal(workspace, { runId: first.run.id, event: 'one', all: true });
    await signal(workspace, { runId: first.run.id, event: 'two', all: true });
    const third = await attempt(workspace, first.run.id);
    expect(third.outcome.kind).toBe('suspended');
    await signal(workspace, { runId: first.run.id, event: 'two', all: true });
    expect((await attempt(workspace, first.run.id)).result).toEqual(Array(6).fill(true));
  });

  verifies('SUSPEND-SNAPSHOT-1', 'go on from the rows that were admitted, whatever their source says now', async () => {
    const workspace = await testWorkspace();
    const first = await runPlay(
      workspace,
      `async (ctx) => {
        async function* source() { for (let n = 0; n < 3; n++) yield { n, made: ctx.run.attempt }; }
        const rows = await ctx.dataset('rows', source())
          .withColumn('v', async (row, ctx) => (await ctx.waitForEvent('ok', { event: 'go' })) && row.made).run({ key: 'n' });
        return (await rows.materialize()).map((row) => row.v);
      }`,
    );
    await signal(workspace, { runId: first.run.id, all: true });
    expect((await attempt(workspace, first.run.id)).result).toEqual([1, 1, 1]);
  });

  verifies(
    'SUSPEND-CRASH-1',
    'and are killed before they are parked lose no answer and buy nothing again',
    async () => {
      const { tool, sent } = countedTool();
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const run = await queued(
        workspace,
        rows(`async (row, ctx) => {
        await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } });
        return (await ctx.waitForEvent('ok', { event: 'go' })).n;
      }`),
      );
      await crash(workspace, run.id, (write) => write.kind === 'row' && write.row.ordinal === 2);
      await signal(workspace, { runId: run.id, rowKey: '2', data: '{"n":2}' });
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect((await attempt(later, run.id)).outcome).toMatchObject({ events: [{ event: 'go', count: 5 }] });
      for (const n of [4, 0, 5, 3, 1]) await signal(later, { runId: run.id, rowKey: String(n), data: `{"n":${n}}` });
      expect((await attempt(later, run.id)).result).toEqual([0, 1, 2, 3, 4, 5]);
      const asked = sent.map(({ input }) => input.n);
      expect(new Set(asked.slice(0, 3))).toEqual(new Set([0, 1, 2]));
      // Two were in flight at the kill at most; what was recorded is not asked again.
      expect(asked.length).toBeLessThanOrEqual(8);
      expect(asked.filter((n) => n < 3)).toHaveLength(3);
    },
  );

  verifies('SUSPEND-DATASET-1', 'hold up no other dataset that has begun', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const { outcome } = await runPlay(
      workspace,
      `async (ctx) => {
        const rows = (name, resolver) => ctx.dataset(name, Array.from({ length: 40 }, (_, n) => ({ n }))).withColumn('v', resolver).run({ key: 'n', concurrency: 1 });
        await Promise.all([
          rows('waiting', (row, ctx) => ctx.waitForEvent('ok', { event: 'go' })),
          rows('working', (row, ctx) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } }).then(() => 1)),
          ctx.sleep('1h'),
        ]);
      }`,
    );
    expect([outcome.kind, sent.length]).toEqual(['suspended', 40]);
  });
});
