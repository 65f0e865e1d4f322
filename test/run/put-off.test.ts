import { describe, expect } from 'vitest';
import { VirtualClock } from '../../src/scope/virtual-clock.ts';
import { crash } from '../harness/crash.ts';
import { callsOf } from '../harness/rerun.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { openTest, queued, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const MINUTE_MS = 61_200;

/** A tool that may be called three times a minute, and when each call went out. */
function slowTool(clock: VirtualClock, run?: (input: { n: number }) => unknown) {
  const at: number[] = [];
  const counted = countedTool({ limits: { rate: [{ calls: 3, per: '1m' }], concurrency: 10 } }, (input) => {
    at.push(clock.now());
    return run === undefined ? input.n : run(input);
  });
  return { ...counted, at };
}

const play = (count: number, options = '{ concurrency: 4, key: "n" }') => `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: ${count} }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data)
    .run(${options});
  return (await rows.materialize()).map((row) => row.v);
}`;

async function untilSettled<T>(clock: VirtualClock, running: Promise<T>): Promise<T> {
  let settled = false;
  const watched = running.finally(() => {
    settled = true;
  });
  watched.catch(() => {});
  while (!settled) await clock.advance(500);
  return watched;
}

describe('a long wait for a provider', () => {
  verifies('PACE-PARK-1', 'parks the row, and the attempt goes on with it at the very instant', async () => {
    const clock = new VirtualClock();
    const { tool, at } = slowTool(clock);
    const workspace = await openTest(testFolder(), { tools: [tool], clock });
    const run = await queued(workspace, play(11));
    const progress = await workspace.engine.start(run.id);
    const outcome = untilSettled(clock, progress.outcome);
    let parked = 0;
    while (parked < 8) {
      await new Promise((resolve) => setImmediate(resolve));
      parked = Math.max(parked, (await workspace.store.datasets.rowCounts(run.no, 1)).parked);
    }
    expect(at).toHaveLength(3);
    expect(await outcome).toMatchObject({ kind: 'completed', result: Array.from({ length: 11 }, (_, n) => n) });
    expect((await workspace.store.runs.run(run.id))?.attempt).toBe(1);
    // Each window is used to the full, and as soon as it opens.
    const begun = at[0] ?? 0;
    const lateMs = at.map((instant, index) => instant - begun - Math.floor(index / 3) * MINUTE_MS);
    for (const late of lateMs) {
      // Within the 2% that a slot may be used late and still count at its own instant.
      expect(late).toBeGreaterThanOrEqual(-MINUTE_MS + 60_000);
      expect(late).toBeLessThan(100);
    }
    // Nothing is left waiting once the rows are over.
    expect((await workspace.store.runs.openWaits(run.no)).wakeAt).toBeNull();
  });

  verifies('PACE-PARK-2', 'outlives its process: the next attempt asks nothing before the instant', async () => {
    const clock = new VirtualClock();
    const { tool, at } = slowTool(clock);
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool], clock });
    const run = await queued(workspace, play(6));
    let parked = 0;
    const crashed = crash(workspace, run.id, (write) => {
      if (write.kind === 'row' && write.row.state === 'parked') parked++;
      return parked === 3 && write.kind === 'heartbeat';
    });
    await untilSettled(clock, crashed);
    expect(at).toHaveLength(3);
    const next = await openTest(dir, { tools: [tool], clock });
    await clock.advance(16_000);
    expect((await next.store.runs.openWaits(run.no)).wakeAt).toBeGreaterThan(clock.now());
    const progress = await next.engine.start(run.id);
    const outcome = await untilSettled(clock, progress.outcome);
    expect(outcome).toMatchObject({ kind: 'completed', result: [0, 1, 2, 3, 4, 5] });
    expect(at).toHaveLength(6);
    for (const instant of at.slice(3)) expect(instant - (at[0] ?? 0)).toBeGreaterThanOrEqual(60_000);
    expect((await next.store.runs.openWaits(run.no)).wakeAt).toBeNull();
  });

  verifies(
    'PACE-PARK-3',
    'is what a provider asks for: its row is parked until then, and counts its tries',
    async () => {
      const clock = new VirtualClock();
      const tried: number[] = [];
      const { tool } = countedTool({ maxTries: 3 }, (input) => {
        tried.push(clock.now());
        if (tried.length < 3) throw endsAs('deferred', { retryAfterMs: 90_000 });
        return input.n;
      });
      const workspace = await openTest(testFolder(), { tools: [tool], clock });
      const run = await queued(workspace, play(1));
      const progress = await workspace.engine.start(run.id);
      const outcome = await untilSettled(clock, progress.outcome);
      expect(outcome).toMatchObject({ kind: 'completed', result: [0] });
      expect(tried.slice(1).map((instant, index) => instant - (tried[index] ?? 0))).toEqual([
        expect.closeTo(90_000, -3),
        expect.closeTo(90_000, -3),
      ]);
      expect((await workspace.store.calls.operations(run.no, 1, [0])).get(0)).toMatchObject([
        { tries: 2, refusals: 2 },
      ]);
    },
  );

  verifies(
    'PACE-EXHAUSTED-1',
    'beyond providerMaxWait it is ProviderExhaustedError at once: the next leg answers',
    async () => {
      const clock = new VirtualClock();
      const { tool, at } = slowTool(clock);
      const asked: number[] = [];
      const day = countedTool({ id: 'other.find', limits: { rate: [{ calls: 2, per: '1d' }] } }, (input) => {
        asked.push(clock.now());
        return -input.n;
      });
      const workspace = await openTest(testFolder(), { tools: [tool, day.tool], clock });
      const run = await queued(
        workspace,
        `async (ctx) => {
        const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }, { n: 3 }])
          .withColumn('v', steps()
            .step('day', async (row, ctx) => (await ctx.tools.execute({ id: 'd', tool: 'other.find', input: { n: row.n } })).data,
              { continueOnProviderUnavailable: true })
            .step('minute', async (row, ctx) => (await ctx.tools.execute({ id: 'm', tool: 'acme.find', input: { n: row.n } })).data,
              { runIf: (row) => row.day === null })
            .return((row) => row.day ?? row.minute))
          .run({ concurrency: 1, key: 'n' });
        return (await rows.materialize()).map((row) => row.v);
      }`,
      );
      const progress = await workspace.engine.start(run.id);
      expect(await untilSettled(clock, progress.outcome)).toMatchObject({ kind: 'completed', result: [-1, -2, 3] });
      expect((at[0] ?? Number.NaN) - (asked[1] ?? 0)).toBeLessThan(1_000);
    },
  );

  verifies('CALL-UNSENT-1', 'beyond providerMaxWait is no live call: nothing went out', async () => {
    const { tool, sent } = countedTool({ limits: { rate: [{ calls: 2, per: '1d' }] } }, (input) => input.n);
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const { run } = await runPlay(workspace, play(3));
    expect(sent).toHaveLength(2);
    expect(await callsOf(workspace, run)).toMatchObject({ live: 2, unsent: 1, failed: 1 });
  });
});
