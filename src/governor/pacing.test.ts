import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import type { ProviderLimits } from '../sdk/index.ts';
import { createBudget } from './budget.ts';
import type { Permit } from './permit.ts';
import {
  accountWith,
  type BacklogOptions,
  type Dispatch,
  governorOn,
  LateClock,
  mostInWindow,
  requestTo,
  workOff,
} from './simulation.test-support.ts';

interface Outcome {
  readonly instants: readonly number[];
  readonly elapsedMs: number;
}

async function backlog(
  limits: ProviderLimits,
  options: BacklogOptions & { readonly forMs: number; readonly clock?: VirtualClock },
): Promise<Outcome> {
  const clock = options.clock ?? new VirtualClock();
  const log: Dispatch[] = [];
  const start = clock.monotonic();
  void workOff(
    { clock, governor: governorOn(clock), account: accountWith({ concurrency: 1_000, ...limits }), log },
    options,
  );
  await clock.advance(options.forMs);
  return { instants: log.map(({ at }) => at - start), elapsedMs: options.forMs };
}

describe('pacing', () => {
  verifies(
    'PACE-WINDOW-1',
    'no window of any declared limit ever holds more dispatches than declared',
    async () => {
      const window = fc.record({
        calls: fc.integer({ min: 1, max: 12 }),
        per: fc.integer({ min: 20, max: 2_000 }),
        smooth: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(window, { minLength: 1, maxLength: 3 }),
          fc.infiniteStream(fc.nat(40)),
          fc.infiniteStream(fc.double({ min: 0, max: 6, noNaN: true })),
          async (rate, preparations, lateness) => {
            const clock = new LateClock(() => lateness.next().value ?? 0);
            const preparationMs = (): number => preparations.next().value ?? 0;
            const givesUp = (): boolean => preparationMs() % 7 === 6;
            const options = { calls: 150, pool: 20, forMs: 6_000, clock, preparationMs, givesUp };
            const { instants } = await backlog({ rate }, options);
            for (const { calls, per } of rate) expect(mostInWindow(instants, per)).toBeLessThanOrEqual(calls);
            expect(instants.length).toBeGreaterThan(0);
          },
        ),
        { numRuns: 25 },
      );
    },
    60_000,
  );

  for (const [name, limit] of [
    ['50 a second', { calls: 50, per: '1s' }],
    ['50 a second, smooth', { calls: 50, per: '1s', smooth: true }],
    ['7 in 250 ms', { calls: 7, per: 250 }],
    ['1,000 a minute', { calls: 1_000, per: '1m' }],
  ] as const)
    verifies(
      'PACE-USE-1',
      `at least 98% of ${name} is used under a backlog, with timers that are late`,
      async () => {
        let turn = 0;
        const late = limit.per === 250 ? 1 : 3;
        const clock = new LateClock(() => (turn++ % 7) * (late / 6));
        const forMs = limit.per === '1m' ? 600_000 : 60_000;
        const { instants } = await backlog({ rate: [limit] }, { calls: 100_000, pool: 64, forMs, clock });
        const per = limit.per === '1m' ? 60_000 : limit.per === '1s' ? 1_000 : limit.per;
        expect(instants.length).toBeGreaterThanOrEqual(0.98 * limit.calls * (forMs / per));
        expect(mostInWindow(instants, per)).toBeLessThanOrEqual(limit.calls);
        // What was dispatched too late must not be made up for by more than the margin.
        expect(mostInWindow(instants, per * 1.009)).toBeLessThanOrEqual(limit.calls);
      },
      60_000,
    );

  verifies('PACE-USE-1', 'of two limits the tighter one is used to 98%', async () => {
    const rate = [
      { calls: 10, per: '1s' },
      { calls: 100, per: '20s' },
    ];
    const { instants } = await backlog({ rate }, { calls: 10_000, pool: 64, forMs: 200_000 });
    expect(instants.length).toBeGreaterThanOrEqual(0.98 * 5 * 200);
    expect(mostInWindow(instants, 1_000)).toBeLessThanOrEqual(10);
    expect(mostInWindow(instants, 20_000)).toBeLessThanOrEqual(100);
  });

  it('a quota of 1,000 an hour does not slow 20 calls down', async () => {
    const { instants } = await backlog({ rate: [{ calls: 1_000, per: '1h' }] }, { calls: 20, pool: 20, forMs: 10 });
    expect(instants).toEqual(Array.from({ length: 20 }, () => 0));
  });

  it('smooth spaces the calls evenly', async () => {
    const { instants } = await backlog(
      { rate: [{ calls: 10, per: '1s', smooth: true }] },
      { calls: 100, pool: 20, forMs: 5_000 },
    );
    const gaps = instants.slice(1).map((at, index) => at - (instants[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(99);
    expect(Math.max(...gaps)).toBeLessThan(105);
  });

  it('a slot is reserved from the permit on, and free again when the call never goes out', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ rate: [{ calls: 1, per: '1s' }] });
    const first = await governor.permit(requestTo(account));
    const second = Promise.resolve(governor.permit(requestTo(account)));
    let got = false;
    void second.then(() => {
      got = true;
    });
    await clock.advance(10_000);
    expect(got).toBe(false);
    first.release();
    first.release();
    await clock.advance(0);
    expect(got).toBe(true);
  });

  it('a permit that is held back counts from its dispatch, not from when it was given', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ rate: [{ calls: 1, per: '1s' }] });
    const first = await governor.permit(requestTo(account));
    await clock.advance(5_000);
    first.dispatched();
    first.settle({ ending: 'answered', credits: 0, latencyMs: 0 });
    const second = Promise.resolve(governor.permit(requestTo(account)));
    const dispatchedAt = clock.monotonic();
    await clock.advance(900);
    expect(governor.snapshot()[0]?.waiting).toBe(1);
    await clock.advance(200);
    expect((await second).waitedMs).toBeGreaterThan(1_000);
    expect(clock.monotonic() - dispatchedAt).toBe(1_100);
  });

  verifies(
    'PACE-COLD-1',
    'the first burst counts from its answers, put off by a quarter of the window at most',
    async () => {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({ rate: [{ calls: 2, per: '1s' }], concurrency: 100 });
      const began = clock.monotonic();
      const at: number[] = [];
      const call = async (answeredAfter: number | undefined) => {
        const permit = await governor.permit(requestTo(account));
        permit.dispatched();
        at.push(clock.monotonic() - began);
        if (answeredAfter === undefined) return;
        clock.after(answeredAfter, () => permit.settle({ ending: 'answered', credits: 0, latencyMs: answeredAfter }));
      };
      // The first was a connection's while on its way, the second is never answered at all.
      for (const after of [100, undefined, 50, 0, 0]) void call(after);
      await clock.advance(5_000);
      expect(at.map((ms) => Math.floor(ms / 10) * 10)).toEqual([0, 0, 1110, 1270, 2130]);
    },
  );

  verifies('PACE-COLD-1', 'however long the window is, by ten seconds at most', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock, { providerMaxWaitMs: 7_200_000 });
    const account = accountWith({ rate: [{ calls: 2, per: '1h' }] });
    for (let call = 0; call < 2; call++) (await governor.permit(requestTo(account))).dispatched();
    let third: Permit | undefined;
    void Promise.resolve(governor.permit(requestTo(account))).then((permit) => {
      third = permit;
    });
    // Neither of them is answered.
    await clock.advance(3_600_000 * 1.016 + 9_900);
    expect(third).toBeUndefined();
    await clock.advance(200);
    expect(third).toBeDefined();
  });

  verifies('BUDGET-GONE-1', 'calls that leave before it goes out give back what they might cost', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const budget = createBudget({ limit: 5 });
    for (const end of ['charged', 'released'] as const) {
      const permit = await governor.permit(requestTo(accountWith({}), { budget, maxCredits: 3 }));
      permit.giveBack(2);
      expect(budget.snapshot()).toMatchObject({ reserved: 1 });
      if (end === 'released') permit.release();
      else {
        permit.dispatched();
        permit.settle({ ending: 'answered', credits: 'later', latencyMs: 1 });
        permit.giveBack(1);
        permit.charge('unknown');
      }
      expect(budget.snapshot()).toMatchObject({ reserved: 0, settled: 0, unknown: 1 });
    }
  });

  verifies('PACE-ACCOUNT-1', 'all tools of an account share its limits, and another account has its own', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const rate = [{ calls: 2, per: '1s' }];
    const mine = accountWith({ rate });
    const theirs = accountWith({ rate }, 'hunter/other');
    for (const tool of ['hunter.find', 'hunter.verify']) {
      (await governor.permit(requestTo(mine, { tool }))).dispatched();
      await clock.advance(5);
    }
    expect(governor.permit(requestTo(mine, { tool: 'hunter.third' }))).toBeInstanceOf(Promise);
    expect(governor.permit(requestTo(theirs))).not.toBeInstanceOf(Promise);
    expect(governor.expectedWaitMs(mine)).toBeGreaterThan(1_000);
    expect(governor.expectedWaitMs(theirs)).toBeLessThanOrEqual(5);
  });

  verifies('PACE-GAP-1', 'a burst goes out a quarter of its share of the window apart, 5 ms at most', async () => {
    for (const [limit, gap] of [
      [{ calls: 50, per: '1s' }, 5],
      [{ calls: 100, per: '1s' }, 2.5],
      [{ calls: 10, per: '1s' }, 5],
      [{ calls: 500, per: '1s' }, 0],
      [{ calls: 100, per: '1m' }, 0],
    ] as const) {
      const { instants } = await backlog({ rate: [limit] }, { calls: 10, pool: 10, forMs: 200 });
      expect(instants).toEqual(Array.from({ length: 10 }, (_, call) => call * gap));
    }
  });

  verifies('BATCH-FILL-1', 'what a call may cost is asked for in the moment in which its turn comes', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ rate: [{ calls: 1, per: '1s', smooth: true }] });
    const budget = createBudget({ limit: 10 });
    const began = clock.monotonic();
    const turns: number[][] = [];
    // Each comes to cost one credit more in each second in which it waits.
    const ask = async (): Promise<void> => {
      let maxCredits = 1;
      const grow = (): void => {
        maxCredits++;
        cancel = clock.after(1_000, grow);
      };
      let cancel = clock.after(1_000, grow);
      const atTurn = (): void => {
        turns.push([Math.floor((clock.monotonic() - began) / 100), maxCredits]);
        cancel();
      };
      const of = requestTo(account, { budget, atTurn });
      (await governor.permit(Object.defineProperty(of, 'maxCredits', { get: () => maxCredits }))).dispatched();
    };
    for (let call = 0; call < 3; call++) void ask();
    await clock.advance(5_000);
    expect(turns).toEqual([
      [0, 1],
      [10, 2],
      [20, 3],
    ]);
    expect(budget.snapshot().reserved).toBe(6);
  });

  it('a limit that cannot be kept is refused with the account and what to mend', () => {
    const governor = governorOn(new VirtualClock());
    for (const limits of [
      { rate: [{ calls: 0, per: '1s' }] },
      { rate: [{ calls: 5, per: 'often' }] },
      { rate: [{ calls: 1.5, per: 1_000 }] },
      { concurrency: 0 },
    ])
      expect(() => governor.permit(requestTo(accountWith(limits)))).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('hunter/default') }),
      );
  });
});
