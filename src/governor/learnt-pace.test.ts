import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { systemChance, VirtualClock } from '../scope/index.ts';
import { type Enforced, type EnforcedRun, workAgainst } from './enforcing-provider.test-support.ts';
import { BackPressureGate } from './gate.ts';
import { LearntPace } from './learnt-pace.ts';
import { createMemoryRateState } from './rate-state.ts';
import { accountWith, answered, deferredFor, governorOn, requestTo } from './simulation.test-support.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const a100 = { rate: [{ calls: 100, per: '1s' }] };
const a60 = { rate: [{ calls: 60, per: '1s' }] };

const enforced =
  (calls: number, perMs = 1_000, counts: Enforced['counts'] = 'sliding'): EnforcedRun['enforced'] =>
  () => ({ calls, perMs, counts });

/** Milliseconds that the rows take where all that is allowed is used, and the most refusals there may be. */
interface Expected {
  readonly idealMs: number;
  readonly refusals: number;
}

const LEARNT: readonly (readonly [string, Omit<EnforcedRun, 'forMs'>, Expected])[] = [
  ['declared 100/s, 40/s', { declared: a100, enforced: enforced(40), rows: 1_500 }, { idealMs: 36_500, refusals: 20 }],
  [
    'declared 100/s, 40/s, no time named',
    { declared: a100, enforced: enforced(40), rows: 1_500, namesTime: false },
    { idealMs: 36_500, refusals: 20 },
  ],
  [
    'declared 100/s in a shared state, 40/s',
    { declared: a100, enforced: enforced(40), rows: 1_500, governor: { rateState: createMemoryRateState() } },
    { idealMs: 36_500, refusals: 20 },
  ],
  [
    'declared 100/s smooth, 40/s',
    { declared: { rate: [{ calls: 100, per: '1s', smooth: true }] }, enforced: enforced(40), rows: 1_500 },
    { idealMs: 36_500, refusals: 20 },
  ],
  [
    'declared 100/s, 40/s in seconds of the clock',
    { declared: a100, enforced: enforced(40, 1_000, 'fixed'), rows: 1_500 },
    { idealMs: 36_500, refusals: 20 },
  ],
  [
    'declared 100/s, a bucket of 40 that fills with 40/s',
    { declared: a100, enforced: enforced(40, 1_000, 'bucket'), rows: 1_500 },
    { idealMs: 36_500, refusals: 20 },
  ],
  [
    'declared 100/s, 40/s, answers after 1 s',
    { declared: { ...a100, concurrency: 64 }, enforced: enforced(40), rows: 1_500, latencyMs: 1_000 },
    { idealMs: 37_000, refusals: 35 },
  ],
  [
    'declared 60/s, 40/s, no time named',
    { declared: a60, enforced: enforced(40), rows: 1_500, namesTime: false },
    { idealMs: 36_500, refusals: 20 },
  ],
  ['undeclared, 40/s', { declared: {}, enforced: enforced(40), rows: 1_500 }, { idealMs: 36_500, refusals: 20 }],
  ['undeclared, 10/s', { declared: {}, enforced: enforced(10), rows: 600 }, { idealMs: 59_000, refusals: 20 }],
  [
    'undeclared, 200 in 10 s, no time named',
    { declared: {}, enforced: enforced(200, 10_000), rows: 1_500, namesTime: false },
    { idealMs: 70_000, refusals: 35 },
  ],
  [
    'undeclared, 100 a minute',
    { declared: {}, enforced: enforced(100, MINUTE), rows: 600 },
    { idealMs: 300_000, refusals: 24 },
  ],
  [
    'undeclared, 100 a minute of the clock',
    { declared: {}, enforced: enforced(100, MINUTE, 'fixed'), rows: 600 },
    { idealMs: 300_000, refusals: 24 },
  ],
];

describe('a limit that nobody declared, or too wide', () => {
  for (const [name, run, { idealMs, refusals }] of LEARNT)
    verifies(
      'PACE-LEARN-1',
      `is learnt: ${name}`,
      async () => {
        const done = await workAgainst({ ...run, forMs: HOUR });
        expect(done.finishedMs).toBeLessThan(1.3 * idealMs + 5_000);
        expect(done.refused.length).toBeLessThanOrEqual(refusals);
        // A call has few tries.
        expect(done.mostForARow).toBeLessThanOrEqual(2);
      },
      60_000,
    );

  verifies(
    'PACE-LEARN-1',
    'is used to 90% in the long run, with less than one refusal in a thousand calls',
    async () => {
      const { finishedMs, refused } = await workAgainst({
        declared: a100,
        enforced: enforced(40),
        rows: 12_000,
        forMs: HOUR,
      });
      expect(finishedMs).toBeLessThan(300_000 / 0.9);
      const late = refused.filter((at) => at > 10_000);
      expect(late.length).toBeLessThan(12);
      const instants = [...late, finishedMs];
      expect(Math.max(...instants.slice(1).map((at, index) => at - (instants[index] ?? 0)))).toBeGreaterThan(MINUTE);
    },
    60_000,
  );

  verifies(
    'PACE-LEARN-3',
    'is found again when it is raised, or is none any more',
    async () => {
      const raised = await workAgainst({
        declared: a100,
        enforced: (ms) => ({ calls: ms < 30_000 ? 10 : 40, perMs: 1_000, counts: 'sliding' }),
        rows: 3_000,
        forMs: HOUR,
      });
      expect(raised.finishedMs).toBeLessThan(1.3 * (30_000 + (2_700 / 40) * 1_000) + 5_000);
      const none = await workAgainst({
        declared: {},
        enforced: (ms) => (ms < 30_000 ? { calls: 40, perMs: 1_000, counts: 'sliding' } : undefined),
        rows: 20_000,
        forMs: HOUR,
      });
      // 64 at once make 640 calls a second.
      expect(none.finishedMs).toBeLessThan(1.3 * (30_000 + 18_800 / 0.64) + 20_000);
    },
    60_000,
  );

  it('is learnt anew when it is lowered', async () => {
    const { finishedMs, refused } = await workAgainst({
      declared: {},
      enforced: (ms) => ({ calls: ms < 20_000 ? 40 : 10, perMs: 1_000, counts: 'sliding' }),
      rows: 1_500,
      forMs: HOUR,
    });
    expect(finishedMs).toBeLessThan(1.4 * (20_000 + 75_000));
    expect(refused.length).toBeLessThan(35);
  });
});

describe('refusals that are not about the rate', () => {
  verifies(
    'PACE-LEARN-4',
    'one of them does not slow a provider without a limit down',
    async () => {
      const run = { declared: {}, enforced: () => undefined, rows: 10_000, forMs: HOUR };
      const calm = await workAgainst(run);
      for (const stray of [5, 2_000]) {
        const { finishedMs } = await workAgainst({ ...run, stray: (call) => call === stray });
        // The second that it asked for, and the ramp of the concurrency that is halved.
        expect(finishedMs - calm.finishedMs).toBeLessThan(4_000);
      }
    },
    60_000,
  );

  verifies(
    'PACE-LEARN-4',
    'one in a hundred costs the time that each asks for, and no rate',
    async () => {
      const { finishedMs, accepted } = await workAgainst({
        declared: {},
        enforced: () => undefined,
        rows: 10_000,
        stray: (call) => call % 100 === 50,
        forMs: HOUR,
      });
      expect(accepted.length).toBe(10_000);
      expect(finishedMs).toBeLessThan(100 * 2_500);
    },
    60_000,
  );
});

describe('an overload', () => {
  /** Calls go out at 30/s for two seconds; of those out then twenty are refused, which takes ten seconds. */
  function refusedOnce(pace: LearntPace, isOverload: boolean, from: number): number | undefined {
    for (let call = 0; call < 60; call++) pace.answered(from + call * 33, 100);
    const refusedAt = from + 2_000;
    pace.learn({ refusedAt, refused: 20, waitMs: 10_000, isNamed: false, isOverload }, refusedAt + 10_000);
    return pace.allowedRate;
  }

  verifies('PACE-LEARN-4', 'teaches nothing at its first episode in a quarter of an hour', () => {
    expect(refusedOnce(new LearntPace(), false, 0)).toBeGreaterThan(0);
    const pace = new LearntPace();
    expect(refusedOnce(pace, true, 0)).toBe(undefined);
    expect(refusedOnce(pace, true, 20 * 60_000)).toBe(undefined);
    expect(refusedOnce(pace, true, 21 * 60_000)).toBeGreaterThan(0);
  });

  verifies('PACE-LEARN-4', 'is none where some of the calls came too fast', () => {
    for (const [said, isOverload] of [
      [[true, true], true],
      [[true, false], false],
    ] as const) {
      const gate = new BackPressureGate(systemChance);
      for (const [call, one] of said.entries()) gate.refused(call, 5, { waitMs: 1_000, isOverload: one });
      expect(gate.answered(1_006)).toMatchObject({ refused: 2, isOverload });
    }
  });
});

describe('the time that a provider names', () => {
  /** How long each refusal closes the account whose calls end as `plan` says, one after the other. */
  async function closings(plan: readonly ('answered' | number | undefined)[]): Promise<number[]> {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ concurrency: 100 });
    const waits: number[] = [];
    for (const step of plan) {
      const asked = Promise.resolve(governor.permit(requestTo(account)));
      // Until it is its turn at the pace that was learnt.
      await clock.advance(5_000);
      const permit = await asked;
      permit.dispatched();
      await clock.advance(10);
      permit.settle(step === 'answered' ? answered : deferredFor(step));
      if (step === 'answered') continue;
      const wait = (governor.snapshot()[0]?.gateClosedUntil ?? 0) - clock.now();
      waits.push(Math.round(wait / 100) * 100);
      await clock.advance(wait);
    }
    return waits;
  }

  verifies('PACE-LEARN-2', 'is kept however often it refuses, as long as it takes a call afterwards', async () => {
    const rounds = Array.from({ length: 6 }, () => [1_000, 'answered'] as const).flat();
    expect(await closings(rounds)).toEqual([1_000, 1_000, 1_000, 1_000, 1_000, 1_000]);
  });

  verifies('PACE-LEARN-2', 'is stretched only while single calls that came back then are refused', async () => {
    // Chance is fixed at the middle: half of 2, 4, 8 s.
    expect(await closings([1_000, 1_000, 1_000, 1_000, 'answered', 1_000])).toEqual([
      1_000, 1_000, 2_000, 4_000, 1_000,
    ]);
  });

  verifies('PACE-LEARN-2', 'eight good answers in a row forget how long it took last time', async () => {
    const good = (count: number): 'answered'[] => Array.from({ length: count }, () => 'answered');
    const hard = [undefined, undefined, undefined, undefined];
    expect(await closings([...hard, ...good(3), undefined])).toEqual([500, 1_000, 2_000, 4_000, 4_000]);
    expect(await closings([...hard, ...good(8), undefined])).toEqual([500, 1_000, 2_000, 4_000, 500]);
  });
});
