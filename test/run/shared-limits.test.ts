import { existsSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRateState, type Governor, memoryRateLogs, type RateLogs } from '../../src/governor/index.ts';
import {
  accountWith,
  type Dispatch,
  governorOn,
  LateClock,
  mostInWindow,
  requestTo,
  workOff,
} from '../../src/governor/simulation.test-support.ts';
import { type Clock, VirtualClock } from '../../src/scope/index.ts';
import { openRates } from '../../src/store/index.ts';
import { cli, jsonOf, startCli } from '../e2e/harness/cli.ts';
import { folder } from '../e2e/harness/folders.ts';
import { ratesIn } from '../harness/rates.ts';
import { testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** A process that shares the limits of a folder; once its name is in `gone` nothing of it happens any more. */
function processOn(dir: string, clock: Clock, session: string, gone: ReadonlySet<string> = new Set()): Governor {
  const { slots } = ratesIn(dir, clock, session, gone);
  const state = createRateState(slots, { isGone: (name) => gone.has(name) });
  const take: typeof state.take = (request) => (gone.has(session) ? new Promise(() => {}) : state.take(request));
  const moved: typeof state.moved = (move) => (gone.has(session) ? undefined : state.moved(move));
  return governorOn(clock, { rateState: { ...state, take, moved }, asker: session });
}

/** Resolves once the condition holds; looked at whenever something in the folder changes. */
function whenIn(dir: string, condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(dir, () => {
      if (!condition()) return;
      watcher.close();
      resolve();
    });
    onTestFinished(() => watcher.close());
  });
}

describe('a limit of processes on one workspace', () => {
  verifies(
    ['PACE-SHARED-1', 'PACE-USE-1'],
    'is kept together in every sliding window, shared fairly, and 98% of it is used',
    async () => {
      const dir = testFolder();
      const clock = new LateClock(() => 1);
      const rate = [
        { calls: 20, per: '1s' },
        { calls: 900, per: '1m' },
      ];
      const account = accountWith({ rate, concurrency: 500 });
      const log: Dispatch[] = [];
      for (const runId of ['p0', 'p1'])
        void workOff({ clock, log, governor: processOn(dir, clock, runId), account }, { runId, calls: 1e5, pool: 64 });
      await clock.advance(61_000);
      const instants = log.map(({ at }) => at);
      expect(mostInWindow(instants, 1_000)).toBeLessThanOrEqual(20);
      expect(mostInWindow(instants, 60_000)).toBeLessThanOrEqual(900);
      expect(instants.length).toBeGreaterThanOrEqual(0.98 * 900);
      const ofFirst = log.filter(({ runId }) => runId === 'p0').length;
      expect(Math.abs(ofFirst / log.length - 0.5)).toBeLessThan(0.1);
    },
    60_000,
  );

  verifies(
    'PACE-RESTART-1',
    'is kept through a kill and a restart, and nothing is held back for the dead',
    async () => {
      const dir = testFolder();
      const clock = new VirtualClock();
      const account = accountWith({ rate: [{ calls: 20, per: '1s' }], concurrency: 500 });
      const log: Dispatch[] = [];
      const gone = new Set<string>();
      for (let life = 0; life < 12; life++) {
        const session = `life ${life}`;
        const calls = { runId: session, calls: 1e5, pool: 30, givesUp: () => gone.has(session) };
        void workOff({ clock, log, governor: processOn(dir, clock, session, gone), account }, calls);
        await clock.advance(1_730);
        if (life < 11) gone.add(session);
      }
      const instants = log.map(({ at }) => at);
      expect(mostInWindow(instants, 1_000)).toBeLessThanOrEqual(20);
      // What a life had taken and not used is lost, at most a block of 100 ms.
      expect(instants.length).toBeGreaterThanOrEqual(0.85 * 20 * 1.73 * 12);
    },
    60_000,
  );

  verifies('PACE-RESTART-1', 'is whole again for those that stay when one of them is killed', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const account = accountWith({ rate: [{ calls: 20, per: '20s' }], concurrency: 500 });
    const log: Dispatch[] = [];
    const gone = new Set<string>();
    for (const runId of ['dies', 'stays']) {
      const calls = { runId, calls: 1e5, pool: 30, givesUp: () => gone.has(runId) };
      void workOff({ clock, log, governor: processOn(dir, clock, runId, gone), account }, calls);
    }
    await clock.advance(21_000);
    const before = log.filter(({ runId }) => runId === 'stays').length;
    expect(before).toBeLessThanOrEqual(20);
    gone.add('dies');
    await clock.advance(20_500);
    expect(log.filter(({ runId }) => runId === 'stays').length - before).toBeGreaterThanOrEqual(18);
  });

  it('of a day is kept by the next process too', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const account = accountWith({ rate: [{ calls: 50, per: '1d' }] });
    const log: Dispatch[] = [];
    const first = workOff({ clock, log, governor: processOn(dir, clock, 'one'), account }, { calls: 50, pool: 4 });
    await clock.advance(1_000);
    await first;
    const next = processOn(dir, clock, 'two');
    const refused = Promise.resolve(next.permit(requestTo(account))).catch((error) => error);
    await clock.advance(1_000);
    expect(await refused).toMatchObject({ code: 'PROVIDER_EXHAUSTED' });
  });

  verifies('PACE-LONG-1', 'of a day is used to the last call over the ends of processes', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const rate = [
      { calls: 10, per: '1s' },
      { calls: 40, per: '1d' },
    ];
    const account = accountWith({ rate, concurrency: 500 });
    const log: Dispatch[] = [];
    for (const runId of ['one', 'two', 'three', 'four', 'five']) {
      const rates = ratesIn(dir, clock, runId);
      const rateState = createRateState(rates.slots);
      const governor = governorOn(clock, { rateState, asker: runId });
      void workOff({ clock, log, governor, account }, { runId, calls: 1e3, pool: 30 }).catch(() => {});
      await clock.advance(1_300);
      // While calls wait, for which a slot of the day was taken.
      if (runId !== 'five') rates.close(() => rateState.end());
      await clock.advance(1_000);
    }
    expect(log.length).toBe(40);
  });

  verifies('PACE-LONG-2', 'of a day loses to a kill what goes in a tenth of a second', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const rate = [
      { calls: 20, per: '1s' },
      { calls: 200, per: '1d' },
    ];
    const account = accountWith({ rate, concurrency: 500 });
    const log: Dispatch[] = [];
    const gone = new Set<string>();
    for (const runId of ['dies', 'goes on']) {
      const calls = { runId, calls: 1e3, pool: 64, givesUp: () => gone.has(runId) };
      void workOff({ clock, log, governor: processOn(dir, clock, runId, gone), account }, calls).catch(() => {});
      await clock.advance(runId === 'dies' ? 1_500 : 30_000);
      gone.add('dies');
    }
    expect(log.filter(({ runId }) => runId === 'dies').length).toBe(40);
    expect(log.length).toBeGreaterThanOrEqual(200 - 2);
  });

  verifies('PACE-LONG-2', 'of a day keeps nothing ready for calls that have not come', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const account = accountWith({ rate: [{ calls: 100, per: '1d' }], concurrency: 500 });
    const log: Dispatch[] = [];
    const gone = new Set<string>();
    for (const runId of ['dies', 'goes on']) {
      const calls = { runId, calls: 1e3, pool: 4, latencyMs: 30, givesUp: () => gone.has(runId) };
      void workOff({ clock, log, governor: processOn(dir, clock, runId, gone), account }, calls).catch(() => {});
      await clock.advance(runId === 'dies' ? 140 : 30_000);
      gone.add('dies');
    }
    expect(log.length).toBe(100);
  });

  it('costs a fast account a transaction for many calls, not for each', async () => {
    const dir = testFolder();
    const clock = new VirtualClock();
    const { slots } = ratesIn(dir, clock, 'one');
    const state = createRateState(slots);
    let takes = 0;
    const take: typeof state.take = (request) => {
      takes++;
      return state.take(request);
    };
    const governor = governorOn(clock, { rateState: { ...state, take }, asker: 'one' });
    const account = accountWith({ rate: [{ calls: 10_000, per: '1s' }], concurrency: 64 });
    const log: Dispatch[] = [];
    void workOff({ clock, log, governor, account }, { calls: 1e6, pool: 64, latencyMs: 20 });
    await clock.advance(2_000);
    expect(log.length).toBeGreaterThan(5_000);
    expect(takes).toBeLessThan(100);
  });
});

describe('the logs in rates.db and those in memory', () => {
  verifies('PACE-SHARED-1', 'say the same of any history', async () => {
    const step = fc.record({
      by: fc.constantFrom('a', 'b'),
      after: fc.integer({ min: 0, max: 700 }),
      want: fc.integer({ min: 1, max: 6 }),
      spare: fc.integer({ min: 0, max: 6 }),
      late: fc.integer({ min: 0, max: 200 }),
      isUsed: fc.boolean(),
    });
    const limits = fc.record({
      calls: fc.integer({ min: 1, max: 8 }),
      perMs: fc.constantFrom(400, 1_000),
      smooth: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 25 }), async (limit, steps) => {
        const clock = new VirtualClock();
        const rates = openRates({ path: ':memory:', clock, session: 'x', isGone: () => false });
        const states = [rates.slots, memoryRateLogs()].map((logs: RateLogs) => createRateState(logs));
        for (const { by, after, want, spare, late, isUsed } of steps) {
          await clock.advance(after);
          const now = clock.now();
          const request = { account: 'acme', limit, asker: by, want, spare, now, until: now + 100 };
          const [one, other] = await Promise.all(states.map(async (state) => state.take(request)));
          expect(one).toEqual(other);
          const from = one?.slots[0];
          if (from !== undefined && late > 50)
            for (const state of states)
              state.moved({ account: 'acme', limit, asker: by, from, to: isUsed ? from + late : null });
        }
        rates.close();
      }),
      { numRuns: 40 },
    );
  });
});

const PLAY = `import { definePlay } from 'callsheet';
export default definePlay('paced', async (ctx, input) => {
  const rows = Array.from({ length: input.rows }, (_, n) => ({ n: input.from + n }));
  const ds = await ctx.dataset('rows', rows, { key: 'n' })
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.tick', input: { n: row.n } })).data)
    .run();
  return ds;
});`;
const TOOL = `import { appendFileSync } from 'node:fs';
import { defineTool } from 'callsheet';
export const tick = defineTool({
  id: 'acme.tick', effect: 'read', input: { type: 'object' }, limits: { rate: [{ calls: 20, per: '1s' }] },
  run: ({ n }) => {
    appendFileSync('ticks.txt', n + ' ' + (performance.timeOrigin + performance.now()) + '\\n');
    return n;
  },
});`;

describe('two command lines on one workspace', () => {
  verifies(
    ['PACE-SHARED-1', 'PACE-RESTART-1'],
    'keep one limit together, while one is killed and goes on',
    async () => {
      const dir = folder({ 'callsheet.config.json': '{}', 'paced.play.ts': PLAY, 'tools/tick.ts': TOOL });
      const ticks = (): string[] =>
        existsSync(join(dir, 'ticks.txt')) ? readFileSync(join(dir, 'ticks.txt'), 'utf8').trim().split('\n') : [];
      const run = (from: number) =>
        startCli(dir, ['run', 'paced.play.ts', '--input', JSON.stringify({ rows: 50, from }), '--yes', '--json']);
      const [one, two] = [run(0), run(1_000)];
      const ofFirst = (): string[] => ticks().filter((tick) => Number(tick.split(' ')[0]) < 1_000);
      await whenIn(dir, () => ofFirst().length >= 15 && ticks().length - ofFirst().length >= 15);
      one.kill('SIGKILL');
      await one.ended;
      const list = jsonOf(await cli(dir, ['runs', 'list', '--json']));
      const killed = list.runs.find((listed: { status: string }) => listed.status === 'interrupted');
      const [resumed, other] = await Promise.all([cli(dir, ['runs', 'resume', killed.id, '--json']), two.ended]);
      expect([resumed.exit, other.exit]).toEqual([0, 0]);
      const instants = ticks().map((tick) => Number(tick.split(' ')[1]));
      expect(new Set(ticks().map((tick) => tick.split(' ')[0])).size).toBe(100);
      // A tenth less than the window, for what a busy machine does between the leave to go and the note of it.
      expect(mostInWindow(instants, 900)).toBeLessThanOrEqual(20);
    },
    60_000,
  );
});
