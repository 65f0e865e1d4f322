import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/scope/index.ts';
import { existingRun, sendSignal, type Workspace } from '../../src/workspace/index.ts';
import { crash, fastClock } from '../harness/crash.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { attempt, openTest, queued, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';
import { askedAgain, type Lives, livesOf, repeatsOf } from './lives.ts';

const TIMEOUT = 120_000;
const HOUR = 3_600_000;

// Processes die here, not the machine: a disk in memory keeps as much as they had handed over, and is quicker.
if (existsSync('/dev/shm')) vi.stubEnv('TMPDIR', '/dev/shm');
afterAll(() => void vi.unstubAllEnvs());

/** Runs this play once undisturbed, and once for each effect of its first attempt, dead before that. */
async function everyDeath(
  play: string,
  told: (lives: Lives) => void,
  world: {
    readonly make: () => Promise<Workspace>;
    readonly begun: (runId: string, workspace: Workspace) => Promise<void>;
    readonly between?: () => Promise<void>;
  },
): Promise<void> {
  const workspace = await world.make();
  let longest = 1;
  for (let effects = -1; effects < longest; effects++) {
    const run = await queued(workspace, play, { file: 'odd.play.ts', input: { effects } });
    await world.begun(run.id, workspace);
    const { between } = world;
    const points = effects < 0 ? [] : [effects];
    const lives = await livesOf(workspace, { runId: run.id, points, ...(between && { between }) });
    if (effects < 0) longest = lives.effects[0] ?? 0;
    told(lives);
  }
  expect(longest).toBeGreaterThan(10);
}

const GUARDED = `async (ctx, input) => {
  const seen = [];
  const guarded = async (what, call) => {
    for (let tries = 0; tries < 3; tries++) {
      try { return void seen.push([what, await call()]); } catch (error) { seen.push([what, 'caught']); } finally { seen.push('finally'); }
    }
  };
  const { effects } = input;
  await guarded('now', async () => (await ctx.now()).getTime() > 0);
  await guarded('call', async () => (await ctx.tools.execute({ id: 'c', tool: 'acme.find', input: { effects, n: 1 } })).data.got.n);
  await guarded('write', async () => (await ctx.tools.execute({ id: 'w', tool: 'acme.send', input: { effects, n: 2 } })).data.got.n);
  await guarded('step', () => ctx.step('s', () => 3));
  await guarded('sleep', () => ctx.sleep('30m').then(() => 4));
  await guarded('event', async () => (await ctx.waitForEvent('e', { event: 'ok' })).n);
  const rows = await ctx.dataset('rows', [{ n: 6 }, { n: 7 }]).withColumn('v', async (row, ctx) => {
    try { return (await ctx.tools.execute({ id: 'r', tool: 'acme.find', input: { effects, n: row.n } })).data.got.n; } catch { return 'caught'; }
  }).run({ key: 'n' });
  await guarded('rows', async () => (await rows.materialize()).map((row) => row.v));
  return seen;
}`;

verifies(
  ['CHAOS-CATCH-1', 'SUSPEND-NEVER-THROWN-1'],
  'a play that catches whatever its calls throw never looks finished where its process died or waits',
  async () => {
    const find = countedTool({ reuse: { scope: 'run' } });
    const send = countedTool({ id: 'acme.send', effect: 'write', idempotency: { header: 'Idempotency-Key' } });
    const seen = [
      ['now', true],
      ['call', 1],
      ['write', 2],
      ['step', 3],
      ['sleep', 4],
      ['event', 5],
      ['rows', [6, 7]],
    ];
    const result = seen.flatMap((one) => [one, 'finally']);
    await everyDeath(
      GUARDED,
      (lives) => {
        expect(lives.outcome).toEqual({ kind: 'completed', result });
        expect(askedAgain(lives)).toEqual([]);
        const { repeats, inFlight } = repeatsOf(lives);
        expect(repeats.length).toBeLessThanOrEqual(inFlight);
      },
      {
        make: () => openTest(testFolder(), { tools: [find.tool, send.tool] }),
        begun: async (runId, workspace) => {
          const to = { runId, event: 'ok', row: null, wait: null, all: false };
          await sendSignal(workspace, { ...to, data: { n: 5 } });
        },
      },
    );
  },
  TIMEOUT,
);

const LEGS = `async (ctx, input) => {
  const { effects } = input;
  const rows = await ctx.dataset('rows', [{ n: 0 }, { n: 1 }])
    .withColumn('v', steps()
      .step('one', async (row, ctx) => (await ctx.tools.execute({ id: 'one', tool: 'acme.find', input: { effects, n: row.n } })).data.got.n, { continueOnProviderUnavailable: true })
      .step('two', async (row, ctx) => (await ctx.tools.execute({ id: 'two', tool: 'acme.second', input: { effects, n: row.n } })).data.got.n, { runIf: (row) => row.one === null || row.one === undefined })
      .return((row) => [row.one ?? null, row.two ?? null]))
    .run({ key: 'n', concurrency: 1 });
  return (await rows.materialize()).map((row) => row.v);
}`;

verifies(
  ['CHAOS-LEGS-1', 'CALL-JOURNAL-1'],
  'leg 1 of a waterfall fails before its process dies and is healthy after: where that it failed is on disk, leg 2 is not paid twice and leg 1 not at all',
  async () => {
    let healthy = false;
    const one = countedTool({ reuse: { scope: 'run' }, maxTries: 1 }, (input) => {
      if (!healthy) throw endsAs('notDispatched');
      return { got: input };
    });
    const two = countedTool({ id: 'acme.second', reuse: { scope: 'run' } });
    let replayed = 0;
    await everyDeath(
      LEGS,
      (lives) => {
        const [death] = lives.deaths;
        const failed = lives.sent.filter(({ life, what }) => life === 1 && death?.failed.has(what) === true);
        expect(askedAgain(lives)).toEqual([]);
        if (lives.outcome.kind !== 'completed') throw new Error(lives.outcome.kind);
        const cells = lives.outcome.result as unknown[][];
        for (const { input } of failed) expect(cells[input.n]).toEqual([null, input.n]);
        replayed += failed.length;
        const asked = lives.sent.filter(({ what }) => what.startsWith('acme.second')).map(({ input }) => input.n);
        const { repeats, inFlight } = repeatsOf(lives);
        expect(repeats.length).toBeLessThanOrEqual(inFlight);
        for (const [n, cell] of cells.entries()) expect(asked.includes(n)).toBe(cell[1] === n);
      },
      {
        make: () => openTest(testFolder(), { tools: [one.tool, two.tool] }),
        // Each run begins with leg 1 down.
        begun: async () => {
          healthy = false;
        },
        between: async () => {
          healthy = true;
        },
      },
    );
    expect(replayed).toBeGreaterThan(5);
  },
  TIMEOUT,
);

/** The machine's clock, moved about: waiting takes its time all the same. */
function movedClock(): { readonly clock: Clock; move: (ms: number) => void } {
  let moved = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + moved };
  const move = (ms: number): void => {
    moved += ms;
  };
  return { clock, move };
}

verifies(
  ['CHAOS-CLOCK-1', 'SUSPEND-SLEEP-1'],
  'a clock that jumps by an hour within an attempt and between two loses nothing, repeats nothing and ends no wait too early',
  async () => {
    const { clock, move } = movedClock();
    const found = countedTool({ limits: { concurrency: 2 } }, (input) => {
      // Forward, back past the start, forward again: in the midst of calls, pauses and heartbeats.
      if (input.n % 3 === 0) move(input.n % 2 === 0 ? HOUR : -2 * HOUR);
      return { got: input };
    });
    const flaky = countedTool({ id: 'acme.flaky', maxTries: 3 }, (input) => {
      if (input.n === 1 && isFirstOf(flaky.sent, input)) throw endsAs('deferred', { retryAfterMs: 20 });
      move(input.n % 2 === 0 ? -HOUR : HOUR);
      return { got: input };
    });
    const workspace = await openTest(testFolder(), { tools: [found.tool, flaky.tool], clock });
    const run = await queued(
      workspace,
      `async (ctx) => {
        const rows = await ctx.dataset('rows', Array.from({ length: 8 }, (_, n) => ({ n }))).withColumn('v', async (row, ctx) => {
          const a = await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: { n: row.n } });
          await ctx.sleep(5);
          const b = await ctx.tools.execute({ id: 'b', tool: 'acme.flaky', input: { n: row.n } });
          return a.data.got.n + b.data.got.n;
        }).run({ key: 'n', concurrency: 3 });
        await ctx.sleep('10h');
        const last = await ctx.tools.execute({ id: 'c', tool: 'acme.find', input: { n: 100 } });
        return [(await rows.materialize()).map((row) => row.v), last.data.got.n];
      }`,
    );
    expect((await attempt(workspace, run.id)).outcome.kind).toBe('suspended');
    // A clock that is put back while a row sleeps may leave it parked: its sleep ends when the clock says so.
    while ((await workspace.store.datasets.rowCounts(run.no, 1)).parked > 0) {
      move(HOUR);
      expect((await attempt(workspace, run.id)).outcome.kind).toBe('suspended');
    }
    const { wakeAt } = await existingRun(workspace, run.id);
    for (const ms of [-HOUR, HOUR, 5 * HOUR]) {
      move(ms);
      expect((await attempt(workspace, run.id)).outcome.kind).toBe('suspended');
      expect((await existingRun(workspace, run.id)).wakeAt).toBe(wakeAt);
    }
    move((wakeAt ?? 0) - clock.now() + 1);
    const { result } = await attempt(workspace, run.id);
    expect(result).toEqual([Array.from({ length: 8 }, (_, n) => 2 * n), 100]);
    expect(found.sent).toHaveLength(9);
    expect(flaky.sent).toHaveLength(9);
  },
  TIMEOUT,
);

function isFirstOf(sent: readonly { readonly input: unknown }[], input: { readonly n: number }): boolean {
  return sent.filter((one) => (one.input as { n: number }).n === input.n).length === 1;
}

verifies(
  ['CHAOS-CLOCK-1', 'RETRY-CURSOR-1'],
  'a clock that is put back while a call waits for its next try makes the wait of the next attempt no longer than it was',
  async () => {
    const clock = fastClock(20);
    const flaky = countedTool({ maxTries: 3 }, (input) => {
      if (flaky.sent.length === 1) throw endsAs('deferred', { retryAfterMs: 1_000 });
      return { got: input };
    });
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [flaky.tool], clock });
    const call = `async (ctx) => (await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: { n: 1 } })).data.got.n`;
    const run = await queued(workspace, call);
    await crash(workspace, run.id, (write) => write.kind === 'receipt');
    const [cursor] = (await workspace.store.calls.operations(run.no, 0, [0])).get(0) ?? [];
    expect(cursor).toMatchObject({ state: 'retrying', tries: 1 });
    // The process that had it is gone.
    const db = new DatabaseSync(workspace.paths.database);
    db.exec('UPDATE runs SET lease_until = 0');
    db.close();
    const back = { ...clock, now: () => clock.now() - HOUR };
    const later = await openTest(dir, { tools: [flaky.tool], clock: back });
    expect((await attempt(later, run.id)).result).toBe(1);
    expect(flaky.sent).toHaveLength(3);
  },
  15_000,
);
