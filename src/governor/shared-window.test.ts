import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type Chance, VirtualClock } from '../scope/index.ts';
import { createMemoryRateState, type RateState } from './rate-state.ts';
import {
  accountWith,
  type Dispatch,
  governorOn,
  LateClock,
  mostInWindow,
  requestTo,
  workOff,
} from './simulation.test-support.ts';

const chanceOf = (process: number): Chance => ({ bytes: (count) => new Uint8Array(count).fill(process + 1) });

/** Several processes: a governor each, one clock, one state. */
function processes(count: number, clock: VirtualClock, rateState: RateState) {
  return Array.from({ length: count }, (_, index) => governorOn(clock, { rateState, chance: chanceOf(index) }));
}

/** A state that answers a little later, like one behind a socket. */
function slowState(clock: VirtualClock, delayMs: number): RateState {
  const state = createMemoryRateState();
  return {
    ...state,
    take: async (request) => {
      await new Promise<void>((resolve) => void VirtualClock.prototype.after.call(clock, delayMs, resolve));
      return state.take(request);
    },
  };
}

describe('limits that processes share', () => {
  verifies(
    'PACE-SHARED-1',
    'two processes keep one declared limit together and use 98% of it',
    async () => {
      const clock = new LateClock(() => 1);
      const account = accountWith({ rate: [{ calls: 50, per: '1s' }], concurrency: 500 });
      const log: Dispatch[] = [];
      processes(2, clock, createMemoryRateState()).forEach(
        (governor, index) =>
          void workOff({ clock, log, governor, account }, { runId: `p${index}`, calls: 100_000, pool: 64 }),
      );
      await clock.advance(60_000);
      const instants = log.map(({ at }) => at);
      expect(mostInWindow(instants, 1_000)).toBeLessThanOrEqual(50);
      expect(instants.length).toBeGreaterThanOrEqual(0.98 * 50 * 60);
      const ofFirst = log.filter(({ runId }) => runId === 'p0').length;
      expect(Math.abs(ofFirst / log.length - 0.5)).toBeLessThan(0.05);
    },
    30_000,
  );

  verifies(
    'PACE-SHARED-3',
    'two that began at different times, each with its own lateness, use 98% of it as well',
    async () => {
      for (const [apartMs, lateMs] of [
        [310, 2],
        [455, 3],
        [730, 3],
      ] as const) {
        let turn = 0;
        const clock = new LateClock(() => ((turn++ * 5) % 7) * (lateMs / 6));
        const account = accountWith({ rate: [{ calls: 50, per: '1s' }], concurrency: 500 });
        const log: Dispatch[] = [];
        for (const [index, governor] of processes(2, clock, createMemoryRateState()).entries()) {
          const options = { runId: `p${index}`, calls: 100_000, pool: 64 - 40 * index, latencyMs: 53 };
          void workOff({ clock, log, governor, account }, options);
          await clock.advance(apartMs);
        }
        await clock.advance(5_000);
        const before = log.length;
        await clock.advance(101_800);
        // 100 windows with the margin of 1.6% would be 5,010.
        expect(log.length - before).toBeGreaterThanOrEqual(4_990);
        const instants = log.map(({ at }) => at);
        expect(mostInWindow(instants, 1_000)).toBeLessThanOrEqual(50);
        const ofFirst = log.slice(before).filter(({ runId }) => runId === 'p0').length / (log.length - before);
        expect(Math.abs(ofFirst - 0.5)).toBeLessThan(0.1);
      }
    },
    30_000,
  );

  verifies('PACE-SHARED-3', 'what one process cannot use of its share another does', async () => {
    const clock = new LateClock(() => 1);
    const account = accountWith({ rate: [{ calls: 50, per: '1s' }], concurrency: 500 });
    const log: Dispatch[] = [];
    const [large, small] = processes(2, clock, createMemoryRateState());
    if (large === undefined || small === undefined) throw new Error('two governors');
    void workOff({ clock, log, governor: large, account }, { runId: 'large', calls: 100_000, pool: 64 });
    // Six at once, 250 ms each: never more than 24 a second.
    void workOff({ clock, log, governor: small, account }, { runId: 'small', calls: 100_000, pool: 6, latencyMs: 250 });
    await clock.advance(5_000);
    const before = log.length;
    await clock.advance(101_800);
    expect(log.length - before).toBeGreaterThanOrEqual(4_980);
    const ofSmall = log.slice(before).filter(({ runId }) => runId === 'small').length;
    expect(ofSmall).toBeGreaterThan(1_000);
  });

  verifies(
    'PACE-SHARED-1',
    'together they never exceed any declared window, however late each of them is',
    async () => {
      const window = fc.record({
        calls: fc.integer({ min: 1, max: 10 }),
        per: fc.integer({ min: 400, max: 2_000 }),
        smooth: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(window, { minLength: 1, maxLength: 2 }),
          fc.infiniteStream(fc.nat(60)),
          fc.nat(3),
          async (rate, preparations, delay) => {
            const clock = new LateClock(() => (preparations.next().value ?? 0) / 20);
            const account = accountWith({ rate, concurrency: 500 });
            const log: Dispatch[] = [];
            const state = delay === 0 ? createMemoryRateState() : slowState(clock, delay);
            for (const governor of processes(3, clock, state))
              void workOff(
                { clock, log, governor, account },
                { calls: 100, pool: 10, preparationMs: () => preparations.next().value ?? 0 },
              );
            await clock.advance(5_000);
            for (const { calls, per } of rate)
              expect(
                mostInWindow(
                  log.map(({ at }) => at),
                  per,
                ),
              ).toBeLessThanOrEqual(calls);
            expect(log.length).toBeGreaterThan(0);
          },
        ),
        { numRuns: 20 },
      );
    },
    60_000,
  );

  it('of two limits for the same time the tighter one holds', async () => {
    const clock = new VirtualClock();
    const rate = [30, 10, 20].map((calls) => ({ calls, per: '1s' }));
    const log: Dispatch[] = [];
    const governor = governorOn(clock, { rateState: createMemoryRateState() });
    const account = accountWith({ rate, concurrency: 500 });
    void workOff({ clock, log, governor, account }, { calls: 1_000, pool: 64 });
    await clock.advance(10_000);
    expect(log.length).toBeGreaterThanOrEqual(98);
    expect(
      mostInWindow(
        log.map(({ at }) => at),
        1_000,
      ),
    ).toBe(10);
  });

  it('a process that ends leaves its quota counted', async () => {
    const clock = new VirtualClock();
    const rateState = createMemoryRateState();
    const account = accountWith({ rate: [{ calls: 20, per: '1d' }], concurrency: 500 });
    const log: Dispatch[] = [];
    const [first, second] = processes(2, clock, rateState);
    if (first === undefined || second === undefined) throw new Error('two governors');
    await Promise.all([
      workOff({ clock, log, governor: first, account }, { calls: 20, pool: 1 }),
      clock.advance(1_000),
    ]);
    expect(log.length).toBe(20);
    await expect(async () => second.permit(requestTo(account))).rejects.toMatchObject({ code: 'PROVIDER_EXHAUSTED' });
  });

  for (const [calls, per] of [
    [20, '1d'],
    [100, '1d'],
    [100, '1h'],
  ] as const)
    verifies('PACE-LONG-1', `of ${calls} in ${per} every call is used, however many are in flight`, async () => {
      for (const pool of [1, 2, 8, 20, 64]) {
        const clock = new VirtualClock();
        const account = accountWith({ rate: [{ calls, per }] });
        const log: Dispatch[] = [];
        const governor = governorOn(clock, { rateState: createMemoryRateState() });
        const refused = workOff({ clock, log, governor, account }, { calls: 500, pool, latencyMs: 15 });
        refused.catch(() => {});
        await clock.advance(10_000);
        await expect(refused).rejects.toMatchObject({ code: 'PROVIDER_EXHAUSTED' });
        expect(log.length).toBe(calls);
      }
    });

  verifies('PACE-LONG-1', 'several at once use a day to the last call, and so do those who come later', async () => {
    const clock = new VirtualClock();
    const rate = [
      { calls: 10, per: '1s' },
      { calls: 100, per: '1d' },
    ];
    const account = accountWith({ rate, concurrency: 500 });
    const log: Dispatch[] = [];
    const [one, two, later] = processes(3, clock, createMemoryRateState());
    if (one === undefined || two === undefined || later === undefined) throw new Error('three governors');
    let call = 0;
    const givesUp = (): boolean => call++ % 3 === 0;
    for (const governor of [one, two])
      void workOff({ clock, log, governor, account }, { calls: 60, pool: 20, preparationMs: () => 30, givesUp });
    await clock.advance(60_000);
    expect(log.length).toBe(80);
    void workOff({ clock, log, governor: later, account }, { calls: 50, pool: 20 }).catch(() => {});
    await clock.advance(60_000);
    expect(log.length).toBe(100);
  });

  verifies(
    'PACE-LONG-1',
    'what a process took for calls that are wanted no more is there for another at once',
    async () => {
      const clock = new VirtualClock();
      const rate = [
        { calls: 1, per: '1s' },
        { calls: 2, per: '1d' },
      ];
      const account = accountWith({ rate });
      const [one, two] = processes(2, clock, createMemoryRateState());
      if (one === undefined || two === undefined) throw new Error('two governors');
      (await one.permit(requestTo(account))).dispatched();
      const halt = new AbortController();
      const waits = Promise.resolve(one.permit(requestTo(account, { signal: halt.signal }))).catch((error) => error);
      await expect(async () => two.permit(requestTo(account))).rejects.toMatchObject({ code: 'PROVIDER_EXHAUSTED' });
      halt.abort('halted');
      expect(await waits).toBe('halted');
      await clock.advance(2_000);
      expect(await two.permit(requestTo(account))).toBeDefined();
      await expect(async () => one.permit(requestTo(account))).rejects.toMatchObject({ code: 'PROVIDER_EXHAUSTED' });
    },
  );

  verifies(
    'PACE-LONG-1',
    'a slot of a day that lies unused for fifteen seconds goes back, though somebody waits',
    async () => {
      const clock = new VirtualClock();
      const rate = [
        { calls: 1, per: '1m' },
        { calls: 2, per: '1d' },
      ];
      const account = accountWith({ rate });
      const [one, two] = processes(2, clock, createMemoryRateState());
      if (one === undefined || two === undefined) throw new Error('two governors');
      (await one.permit(requestTo(account))).dispatched();
      Promise.resolve(one.permit(requestTo(account))).catch(() => {});
      await expect(async () => two.permit(requestTo(account))).rejects.toMatchObject({ code: 'PROVIDER_EXHAUSTED' });
      await clock.advance(16_000);
      expect(two.permit(requestTo(account))).toBeInstanceOf(Promise);
      await clock.advance(0);
      expect(two.snapshot()[0]).toMatchObject({ waiting: 1 });
    },
  );

  verifies(
    ['PACE-LONG-1', 'PACE-SHARED-1'],
    'a long window is never exceeded by what is given back',
    async () => {
      const long = fc.record({ calls: fc.integer({ min: 1, max: 12 }), per: fc.integer({ min: 61_000, max: 90_000 }) });
      const short = fc.record({ calls: fc.integer({ min: 1, max: 4 }), per: fc.integer({ min: 400, max: 20_000 }) });
      await fc.assert(
        fc.asyncProperty(long, short, fc.infiniteStream(fc.nat(60)), async (limit, shorter, chances) => {
          const clock = new LateClock(() => (chances.next().value ?? 0) / 20);
          const account = accountWith({ rate: [limit, shorter], concurrency: 500 });
          const log: Dispatch[] = [];
          const state = createMemoryRateState();
          const next = (): number => chances.next().value ?? 0;
          const options = { calls: 1_000, pool: 6, preparationMs: next, givesUp: () => next() % 3 === 0 };
          for (const governor of processes(3, clock, state)) void workOff({ clock, log, governor, account }, options);
          for (let part = 0; part < 10; part++) await clock.advance(30_000);
          const instants = log.map(({ at }) => at);
          for (const { calls, per } of [limit, shorter]) expect(mostInWindow(instants, per)).toBeLessThanOrEqual(calls);
          expect(instants.length).toBeGreaterThanOrEqual(Math.min(limit.calls, 3));
        }),
        { numRuns: 15 },
      );
    },
    60_000,
  );

  verifies('PACE-SHARED-1', 'without a slot nobody goes, whatever the state says of when to ask again', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const rateState: RateState = {
      ...createMemoryRateState(),
      take: ({ now }) => {
        asked++;
        return { slots: [], spare: 0, nextAt: now - 5 };
      },
    };
    const account = accountWith({ rate: [{ calls: 5, per: '1s' }] });
    const governor = governorOn(clock, { rateState });
    void workOff({ clock, log: [], governor, account }, { calls: 1, pool: 1 });
    await clock.advance(1_000);
    expect(governor.snapshot()[0]).toMatchObject({ waiting: 1 });
    expect(asked).toBeGreaterThan(10);
    expect(asked).toBeLessThan(120);
  });

  it('a state that fails refuses those who wait with its error, and is asked again later', async () => {
    const clock = new VirtualClock();
    let broken = true;
    const state = createMemoryRateState();
    for (const fail of [
      () => Promise.reject(new Error('rates.db is locked')),
      () => {
        throw new Error('rates.db is locked');
      },
    ]) {
      broken = true;
      const rateState: RateState = { ...state, take: (request) => (broken ? fail() : state.take(request)) };
      const governor = governorOn(clock, { rateState });
      const account = accountWith({ rate: [{ calls: 5, per: '1s' }] });
      const asked = Promise.resolve(governor.permit(requestTo(account))).catch((error) => error);
      await clock.advance(2_500);
      expect(await asked).toMatchObject({ message: 'rates.db is locked' });
      broken = false;
      await clock.advance(2_500);
      const permit = Promise.resolve(governor.permit(requestTo(account)));
      await clock.advance(1_000);
      expect(await permit).toBeDefined();
    }
  });
});
