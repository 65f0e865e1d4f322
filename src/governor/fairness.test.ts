import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import { accountWith, type Dispatch, governorOn, requestTo, workOff } from './simulation.test-support.ts';

describe('fairness between runs', () => {
  verifies(
    'PACE-FAIR-1',
    'a run of 10 beside a run of 100,000 finishes in time proportional to its own size',
    async () => {
      const clock = new VirtualClock();
      const log: Dispatch[] = [];
      const on = {
        clock,
        log,
        governor: governorOn(clock),
        account: accountWith({ rate: [{ calls: 10, per: '1s' }] }),
      };
      void workOff(on, { runId: 'huge', calls: 100_000, pool: 256 });
      await clock.advance(30_000);
      const startedAt = clock.monotonic();
      const small = workOff(on, { runId: 'small', calls: 10, pool: 10 });
      await clock.advance(10_000);
      // Half of 10 a second: 10 calls need 2 s, after the window that the huge run has just used up.
      expect((await small) - startedAt).toBeLessThan(3_200);
    },
  );

  verifies(
    'PACE-STARVE-1',
    'runs that wait get equal shares, whatever their number and size',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 4, max: 40 }), { minLength: 2, maxLength: 5 }),
          fc.oneof(
            fc.constant({ rate: [{ calls: 5, per: 500 }] }),
            fc.constant({ concurrency: 3 }),
            fc.constant({ rate: [{ calls: 20, per: '1s', smooth: true }], concurrency: 2 }),
          ),
          async (pools, limits) => {
            const clock = new VirtualClock();
            const log: Dispatch[] = [];
            const on = { clock, log, governor: governorOn(clock), account: accountWith(limits) };
            pools.forEach((pool, run) => void workOff(on, { runId: `run_${run}`, calls: 10_000, pool, latencyMs: 40 }));
            await clock.advance(1_000); // what goes out before anybody has to wait is first come, first served
            const settledIn = log.length;
            await clock.advance(5_000);
            const counts = pools.map(
              (_, run) => log.slice(settledIn).filter(({ runId }) => runId === `run_${run}`).length,
            );
            expect(Math.min(...counts)).toBeGreaterThan(0);
            expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(3);
          },
        ),
        { numRuns: 15 },
      );
    },
    60_000,
  );

  it('inside a run the order is that of arrival', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ rate: [{ calls: 1, per: 100 }] });
    const order: number[] = [];
    for (let call = 0; call < 8; call++)
      void Promise.resolve(governor.permit(requestTo(account))).then((permit) => {
        order.push(call);
        permit.dispatched();
        permit.settle({ ending: 'answered', credits: 0, latencyMs: 0 });
      });
    await clock.advance(2_000);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('a waiter whose signal is aborted leaves the queue, and the others keep their order', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ rate: [{ calls: 1, per: 100 }] });
    const order: string[] = [];
    const aborts = [0, 1, 2, 3, 4].map(() => new AbortController());
    aborts.forEach((abort, call) => {
      Promise.resolve(governor.permit(requestTo(account, { signal: abort.signal }))).then(
        (permit) => {
          order.push(`went ${call}`);
          permit.dispatched();
          permit.settle({ ending: 'answered', credits: 0, latencyMs: 0 });
        },
        (reason) => order.push(`${reason} ${call}`),
      );
    });
    aborts[3]?.abort('stopped');
    aborts[1]?.abort('stopped');
    await clock.advance(1_000);
    expect(order).toEqual(['went 0', 'stopped 3', 'stopped 1', 'went 2', 'went 4']);
    expect(governor.snapshot()[0]).toMatchObject({ waiting: 0, inFlight: 0 });
    expect(clock.pending()).toEqual([]);
  });

  it('a signal that is aborted already is refused at once', () => {
    const governor = governorOn(new VirtualClock());
    const signal = AbortSignal.abort(new Error('the run was cancelled'));
    expect(() => governor.permit(requestTo(accountWith({}), { signal }))).toThrow('the run was cancelled');
  });
});
