import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import { OutOfCreditsError, RunFatalError } from '../sdk/index.ts';
import { type Budget, createBudget } from './budget.ts';
import type { Permit } from './permit.ts';
import { accountWith, governorOn, requestTo } from './simulation.test-support.ts';

interface Spending {
  readonly budget: Budget;
  readonly calls: number;
  readonly pool: number;
  readonly cost: (call: number) => { readonly max: number; readonly real: number };
}

/** Spends until the calls or the credits are out; what the provider charged, and the error that ended it. */
async function spend({ budget, calls, pool, cost }: Spending): Promise<{ charged: number[]; error: unknown }> {
  const clock = new VirtualClock();
  const governor = governorOn(clock);
  const account = accountWith({ concurrency: 1_000 });
  const charged: number[] = [];
  let next = 0;
  let error: unknown;
  const worker = async (): Promise<void> => {
    while (next < calls && error === undefined) {
      const call = next++;
      const { max, real } = cost(call);
      const permit: Permit = await governor.permit(requestTo(account, { budget, maxCredits: max }));
      permit.dispatched();
      await new Promise<void>((resolve) => void clock.after(10 + (call % 5), resolve));
      charged.push(real);
      permit.settle({ ending: 'answered', credits: real, latencyMs: 10 });
    }
  };
  const workers = Array.from({ length: pool }, () =>
    worker().catch((caught) => {
      error ??= caught;
    }),
  );
  let done = false;
  void Promise.all(workers).then(() => {
    done = true;
  });
  for (let step = 0; step < 2_000 && !done; step++) await clock.advance(20);
  expect(done).toBe(true);
  return { charged, error };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

describe('budget', () => {
  verifies('BUDGET-LIMIT-1', '64 calls in flight near the end spend all of it and not a credit more', async () => {
    const budget = createBudget({ limit: 100 });
    const { charged, error } = await spend({ budget, calls: 300, pool: 64, cost: () => ({ max: 1, real: 1 }) });
    expect(sum(charged)).toBe(100);
    expect(error).toBeInstanceOf(OutOfCreditsError);
    expect(budget.snapshot()).toEqual({ reserved: 0, settled: 100, unknown: 0, limit: 100, waiting: 0 });
  });

  verifies('BUDGET-LIMIT-1', 'a call that would fit but for open reservations waits for them', async () => {
    // Each may cost 10 but costs 1: only what is settled decides that the credits are out.
    const budget = createBudget({ limit: 100 });
    const { charged, error } = await spend({ budget, calls: 300, pool: 64, cost: () => ({ max: 10, real: 1 }) });
    expect(charged.length).toBe(91);
    expect(error).toBeInstanceOf(OutOfCreditsError);
  });

  verifies(
    'BUDGET-LIMIT-1',
    'whatever calls cost, never more than the limit is charged, and nobody waits for ever',
    async () => {
      const costs = fc.array(
        fc.record({ max: fc.integer({ min: 0, max: 30 }), share: fc.integer({ min: 0, max: 3 }) }),
        {
          minLength: 1,
          maxLength: 60,
        },
      );
      await fc.assert(
        fc.asyncProperty(
          costs,
          fc.integer({ min: 0, max: 200 }),
          fc.integer({ min: 1, max: 64 }),
          async (list, limit, pool) => {
            const budget = createBudget({ limit: limit / 10 });
            const cost = (call: number): { max: number; real: number } => {
              const { max, share } = list[call] ?? { max: 0, share: 0 };
              return { max: max / 10, real: Math.floor((max * share) / 3) / 10 };
            };
            const { charged, error } = await spend({ budget, calls: list.length, pool, cost });
            const micro = charged.reduce((total, credits) => total + Math.round(credits * 1e6), 0);
            expect(micro).toBeLessThanOrEqual(limit * 1e5);
            expect(budget.snapshot()).toMatchObject({ reserved: 0, waiting: 0 });
            expect(Math.round(budget.snapshot().settled * 1e6)).toBe(micro);
            if (error === undefined) expect(charged.length).toBe(list.length);
            else expect(error).toBeInstanceOf(OutOfCreditsError);
          },
        ),
        { numRuns: 40 },
      );
    },
    60_000,
  );

  verifies('BUDGET-RESERVE-1', 'a call reserves its highest cost and settles at the real one', () => {
    const budget = createBudget({ limit: 20 });
    expect(budget.reserve(10)).toBe('reserved');
    expect(budget.snapshot()).toMatchObject({ reserved: 10, settled: 0 });
    budget.settle(10, 0.3);
    expect(budget.snapshot()).toMatchObject({ reserved: 0, settled: 0.3 });
    budget.reserve(10);
    budget.release(10);
    expect(budget.snapshot()).toMatchObject({ reserved: 0, settled: 0.3 });
  });

  verifies('BUDGET-OUT-1', 'out of credits is run-fatal and says limit, settled, needed and how to go on', () => {
    const budget = createBudget({ limit: 50, settled: 48, runId: 'run_7' });
    let error: unknown;
    try {
      budget.reserve(2.5);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(RunFatalError);
    expect(error).toMatchObject({
      code: 'OUT_OF_CREDITS',
      message:
        'Out of credits: the limit of this run is 50; 48 were settled when a call was refused that may cost 2.5.',
      details: { limit: 50, settled: 48, reserved: 0, needed: 2.5, runId: 'run_7' },
      next: ['callsheet runs resume run_7 --max-credits 100'],
    });
    expect(budget.reserve(2)).toBe('reserved');
  });

  verifies('BUDGET-OUT-2', 'the message says when its figures were so, and what was out then', () => {
    const budget = createBudget({ limit: 20, settled: 16 });
    budget.reserve(2);
    budget.settle(2, 2);
    budget.reserve(2);
    // What is out may still come to nothing; a dear call is refused all the same.
    expect(() => budget.reserve(5)).toThrow(
      'Out of credits: the limit of this run is 20; 18 were settled, 2 were reserved by calls that were out when a call was refused that may cost 5.',
    );
  });

  it('a thousand times 0.1 is 100, and exactly that many fit', () => {
    const budget = createBudget({ limit: 100 });
    for (let call = 0; call < 1_000; call++) {
      budget.reserve(0.1);
      budget.settle(0.1, 0.1);
    }
    expect(budget.snapshot().settled).toBe(100);
    expect(() => budget.reserve(0.1)).toThrow(OutOfCreditsError);
  });

  it('a free call passes when the credits are out, and without a limit nothing is refused', () => {
    expect(createBudget({ limit: 0 }).reserve(0)).toBe('reserved');
    expect(createBudget({ settled: 1e6 }).reserve(1e6)).toBe('reserved');
    expect(createBudget().snapshot().limit).toBe(null);
  });

  verifies('BUDGET-LOST-1', 'what may have been charged is unknown, and counts as spent where it was sent now', () => {
    const budget = createBudget({ limit: 10, unknown: 2 });
    budget.reserve(3);
    budget.settle(3, 'unknown');
    expect(budget.snapshot()).toMatchObject({ reserved: 0, settled: 0, unknown: 5 });
    expect(budget.reserve(5)).toBe('reserved');
    budget.settle(5, 0);
    expect(() => budget.reserve(6)).toThrow(
      '0 were settled, 5 more may have been charged by calls that were not resolved when a call was refused that may cost 6',
    );
    const lost = budget.lost(2, true);
    lost.settle('unknown');
    expect(budget.snapshot()).toMatchObject({ settled: 0, unknown: 5 });
    lost.settle(1);
    lost.settle(2);
    expect(budget.snapshot()).toMatchObject({ settled: 1, unknown: 3 });
    budget.lost(3, true).handOver();
    expect(budget.snapshot()).toMatchObject({ reserved: 3, settled: 1, unknown: 0 });
  });

  verifies('BUDGET-TREE-1', 'a run also draws on the budget around it, which refuses in its own name', () => {
    const day = createBudget({
      limit: 10,
      owner: () => ({ of: 'this workspace for today', next: ['Raise creditsPerDay in the config.'] }),
    });
    const one = createBudget({ limit: 8, within: day });
    const two = createBudget({ within: day });
    one.reserve(6);
    one.settle(6, 6);
    expect(two.reserve(4)).toBe('reserved');
    const served: string[] = [];
    const waiter = { granted: () => served.push('granted'), refused: () => served.push('refused') };
    expect(one.reserve(2, waiter)).toBe('wait');
    two.release(4);
    expect(served).toEqual(['granted']);
    expect(day.snapshot()).toMatchObject({ reserved: 2, settled: 6 });
    expect(() => two.reserve(5)).toThrow(/limit of this workspace for today is 10; 6 were settled, 2 were reserved/);
  });

  verifies('BUDGET-OWED-1', 'what is owed is reserved until it is settled, and then costs what it costs', () => {
    const budget = createBudget({ limit: 10 });
    const owed = budget.owe(6);
    const served: string[] = [];
    const waiter = { granted: () => served.push('granted'), refused: () => served.push('refused') };
    expect(budget.snapshot()).toMatchObject({ reserved: 6, settled: 0 });
    expect(budget.reserve(5, waiter)).toBe('wait');
    owed.settle(2);
    owed.settle(2);
    owed.release();
    expect(served).toEqual(['granted']);
    expect(budget.snapshot()).toMatchObject({ reserved: 5, settled: 2 });
  });

  verifies('BUDGET-LOST-2', 'what was lost and is asked for again is waited for, since it may cost less', () => {
    const budget = createBudget({ limit: 10, unknown: 6 });
    const lost = budget.lost(6, true);
    expect(() => budget.reserve(5)).toThrow(OutOfCreditsError);
    lost.hold();
    const served: string[] = [];
    const waiter = { granted: () => served.push('granted'), refused: () => served.push('refused') };
    expect(budget.reserve(5, waiter)).toBe('wait');
    lost.settle(1);
    expect([served, budget.snapshot()]).toMatchObject([['granted'], { reserved: 5, settled: 1, unknown: 0 }]);
  });

  verifies(
    'BUDGET-OWED-1',
    'what nobody takes up counts as spent after a while, so that others learn of it',
    async () => {
      const clock = new VirtualClock();
      const budget = createBudget({ limit: 10, clock });
      const owed = budget.owe(6);
      const served: string[] = [];
      const waiter = { granted: () => served.push('granted'), refused: () => served.push('refused') };
      budget.reserve(3);
      budget.reserve(5, waiter);
      await clock.advance(60_000);
      // A call that is at work may still make room.
      expect(served).toEqual([]);
      budget.settle(3, 1);
      await clock.advance(9_000);
      expect(served).toEqual([]);
      await clock.advance(2_000);
      expect(served).toEqual(['refused']);
      expect(budget.snapshot()).toMatchObject({ reserved: 0, settled: 1, unknown: 6 });
      owed.settle(2);
      expect(budget.snapshot()).toMatchObject({ reserved: 0, settled: 3, unknown: 0 });
    },
  );

  it('who waits for credits is refused when the settled ones leave no room, and forgotten when it leaves', () => {
    const budget = createBudget({ limit: 10 });
    const served: string[] = [];
    const waiter = (name: string) => ({
      granted: () => void served.push(`granted ${name}`),
      refused: () => void served.push(`refused ${name}`),
    });
    budget.reserve(10);
    const left = waiter('left');
    budget.reserve(10, left);
    budget.reserve(8, waiter('large'));
    budget.reserve(1, waiter('small'));
    budget.forget(left);
    budget.settle(10, 5);
    expect(served).toEqual(['refused large', 'granted small']);
  });

  it('a run that waits for credits does not hold up other runs of the account', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ concurrency: 10 });
    const budget = createBudget({ limit: 5 });
    const first = await governor.permit(requestTo(account, { budget, maxCredits: 5 }));
    const abort = new AbortController();
    const waits = ['a', 'b'].map(() =>
      Promise.resolve(governor.permit(requestTo(account, { budget, maxCredits: 5, signal: abort.signal }))).catch(
        (e) => e,
      ),
    );
    const other = Promise.resolve(governor.permit(requestTo(account, { runId: 'run_b' })));
    await clock.advance(0);
    expect((await other).waitedMs).toBe(0);
    expect(governor.waits()).toMatchObject([{ runId: 'run_a', waiting: 2, reason: 'credits', until: null }]);
    abort.abort('stopped');
    expect(await Promise.all(waits)).toEqual(['stopped', 'stopped']);
    first.settle({ ending: 'answered', credits: 0, latencyMs: 1 });
    expect(budget.snapshot()).toMatchObject({ reserved: 0, waiting: 0 });
    expect(governor.permit(requestTo(account, { budget, maxCredits: 5 }))).not.toBeInstanceOf(Promise);
  });

  it('refuses a limit that is no number', () => {
    for (const limit of [-1, Number.NaN]) expect(() => createBudget({ limit })).toThrow(/from 0 up/);
  });
});
