import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import type { RateLimit } from '../sdk/index.ts';
import { createMemoryRateState } from './rate-state.ts';
import {
  accountWith,
  answered,
  governorOn,
  mostInWindow,
  requestTo,
  StallingClock,
} from './simulation.test-support.ts';

interface Held {
  readonly rate: readonly RateLimit[];
  readonly processes: number;
  readonly forMs: number;
  /** For how long a process is held up between saying that a request goes out and sending it. */
  readonly stallMs: () => number;
}

/** When requests were sent, by processes that share the limits where there are several. */
async function sendings({ rate, processes, forMs, stallMs }: Held): Promise<number[]> {
  const base = new VirtualClock();
  const account = accountWith({ rate, concurrency: 500 });
  const shared = processes > 1 ? { rateState: createMemoryRateState() } : {};
  const sent: number[] = [];
  for (let process = 0; process < processes; process++) {
    const clock = new StallingClock(base);
    const governor = governorOn(clock, { ...shared, asker: `p${process}` });
    const worker = async (): Promise<void> => {
      for (;;) {
        const permit = await governor.permit(requestTo(account));
        permit.dispatched();
        const ms = stallMs();
        if (ms > 0) clock.stall(ms);
        sent.push(clock.monotonic());
        await new Promise<void>((resolve) => void base.after(30, resolve));
        permit.settle(answered);
      }
    };
    for (let call = 0; call < 30; call++) void worker();
  }
  await base.advance(forMs);
  return sent;
}

describe('a process that is held up while it sends', () => {
  for (const [processes, smooth] of [
    [1, true],
    [1, false],
    [2, true],
    [2, false],
  ] as const)
    verifies(
      'PACE-SENT-1',
      `keeps ${smooth ? 'smooth' : 'plain'} windows: ${processes} of them`,
      async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.integer({ min: 3, max: 20 }),
            fc.infiniteStream(fc.integer({ min: -400, max: 60 })),
            async (calls, stalls) => {
              const stallMs = (): number => Math.max(0, stalls.next().value ?? 0);
              const sent = await sendings({ rate: [{ calls, per: '1s', smooth }], processes, forMs: 20_000, stallMs });
              expect(mostInWindow(sent, 1_000)).toBeLessThanOrEqual(calls);
              expect(sent.length).toBeGreaterThan(calls * 20 * 0.85);
            },
          ),
          { numRuns: 15 },
        );
      },
      60_000,
    );
});
