import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { accountWith, ask, governorOn, requestTo } from '../../src/governor/simulation.test-support.ts';
import { type Clock, VirtualClock } from '../../src/scope/index.ts';
import { openRates } from '../../src/store/index.ts';
import { Provider, processOn, work } from '../harness/places.ts';
import { ratesIn } from '../harness/rates.ts';
import { testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

describe('a declared concurrency', () => {
  verifies(
    ['PACE-KILL-1', 'PACE-SHARED-2'],
    'is whole again for those that stay when one is killed, but not before its calls have ended',
    async () => {
      const dir = testFolder();
      const clock = new VirtualClock();
      const gone = new Set<string>();
      const provider = new Provider(clock, gone);
      const many = { concurrency: 10, calls: 1e6, pool: 64, latencyMs: 2_000 };
      for (const process of ['dies', 'stays']) void work(provider, process, processOn(dir, clock, process, gone), many);
      await clock.advance(8_500);
      expect(provider.of('stays')).toBe(5);
      gone.add('dies');
      void work(provider, 'resumed', processOn(dir, clock, 'resumed', gone), many);
      // What has gone out last takes 2 s more.
      await clock.advance(2_000);
      expect(provider.of('stays') + provider.of('resumed')).toBe(5);
      await clock.advance(2_000);
      expect(provider.of('stays') + provider.of('resumed')).toBe(10);
      expect(provider.most).toBe(10);
    },
  );

  verifies(
    'PACE-KILL-1',
    'of one call is not used again for a second at least, and holds nobody up for longer than calls took',
    async () => {
      for (const [latencyMs, afterMs, counts] of [
        [100, 5_000, [950, 1_200]],
        [60_000, 125_000, [24_900, 25_100]],
        [60_000, 170_000, [950, 1_200]],
        [60_000, 600, [4_000, 4_500]],
      ] as const) {
        const [dir, clock, gone] = [testFolder(), new VirtualClock(), new Set<string>()];
        const provider = new Provider(clock, gone);
        const one = { concurrency: 1, calls: 1e6, pool: 4, latencyMs };
        void work(provider, 'dies', processOn(dir, clock, 'dies', gone), one);
        await clock.advance(afterMs);
        gone.add('dies');
        const left = provider.inFlight;
        void work(provider, 'resumed', processOn(dir, clock, 'resumed', gone), one);
        await clock.advance(counts[0]);
        expect([left, provider.of('resumed')]).toEqual([1, 0]);
        await clock.advance(counts[1] - counts[0]);
        expect(provider.of('resumed')).toBe(1);
      }
    },
  );

  verifies('PACE-KILL-1', 'is there at once after another start of the machine', async () => {
    const [path, clock] = [join(testFolder(), 'rates.db'), new VirtualClock()];
    const sent = async (session: string): Promise<boolean> => {
      const parts = { path, clock, session, isGone: (name: string) => name !== session };
      const rates = openRates({ ...parts, boot: { id: session, at: clock.now() - 60_000 } });
      onTestFinished(() => rates.close());
      const governor = governorOn(clock, { placeState: rates.places });
      const asked = ask(governor, requestTo(accountWith({ concurrency: 1 })));
      await clock.advance(60);
      return asked.permit !== undefined;
    };
    expect([await sent('one'), await sent('two')]).toEqual([true, true]);
  });

  verifies('PACE-KILL-1', 'is there at once after an orderly end, and soon where the clock was set back', async () => {
    const [dir, clock, gone] = [testFolder(), new VirtualClock(), new Set<string>()];
    const other = async (session: string, ends: () => void): Promise<void> => {
      const rates = ratesIn(dir, clock, session, gone);
      const permit = governorOn(clock, { placeState: rates.places }).permit(requestTo(accountWith({ concurrency: 1 })));
      await clock.advance(60);
      (await permit).dispatched();
      if (session === 'ends') rates.close();
      ends();
    };
    await other('ends', () => {});
    await other('killed', () => gone.add('killed'));
    // By an hour, which no claim counts for.
    const behind: Clock = {
      now: () => clock.now() - 3_600_000,
      monotonic: () => clock.monotonic(),
      after: (ms, fn) => clock.after(ms, fn),
    };
    const provider = new Provider(clock);
    void work(provider, 'behind', processOn(dir, behind, 'behind', gone), { concurrency: 1, calls: 9, pool: 1 });
    await clock.advance(1_100);
    expect(provider.done('behind')).toBe(9);
  });
});
