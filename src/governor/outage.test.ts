import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import { isProviderUnavailable } from '../sdk/index.ts';
import { createBudget } from './budget.ts';
import type { Permit, PermitOutcome } from './permit.ts';
import {
  accountWith,
  ambiguous,
  answered,
  ask,
  dispatch,
  FIVE_MINUTES,
  governorOn,
  requestTo,
  unreached,
} from './simulation.test-support.ts';

describe('the provider breaker', () => {
  verifies(
    'BREAKER-PROVIDER-1',
    'an account that mostly fails is tried by single calls until it answers again; who can ask another provider does',
    async () => {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({ concurrency: 20 });
      const leg = { ...requestTo(account), passesOver: true };
      const flying = await Promise.all(Array.from({ length: 20 }, () => dispatch(governor, leg)));
      const asked = Array.from({ length: 12 }, () => ask(governor, leg));
      const waiting = asked[11] ?? {};
      await clock.advance(0);
      for (const permit of flying) permit.settle(ambiguous);
      await clock.advance(0);
      for (const { permit } of asked) permit?.release();
      expect(waiting.error).toMatchObject({ code: 'PROVIDER_UNAVAILABLE', retryAfterMs: 1_000, retryable: true });
      expect(isProviderUnavailable(waiting.error)).toBe(true);
      expect(governor.snapshot()[0]).toMatchObject({ failing: true, waiting: 0 });
      expect(() => governor.permit(leg)).toThrow(/mostly fails/);

      await clock.advance(1_000);
      const probe = await dispatch(governor, leg);
      expect(() => governor.permit(leg)).toThrow(/mostly fails/);
      probe.settle(ambiguous);
      await clock.advance(1_500);
      expect(() => governor.permit(leg)).toThrow(/mostly fails/);
      await clock.advance(500);
      for (let probes = 0; probes < 3; probes++) (await dispatch(governor, leg)).settle(answered);
      expect(governor.snapshot()[0]?.failing).toBe(false);
      await Promise.all(Array.from({ length: 20 }, () => dispatch(governor, leg)));
    },
  );

  /** One call was answered, ten have failed, and so many wait. */
  async function outage(clock: VirtualClock, waiting = 20) {
    const governor = governorOn(clock);
    const account = accountWith({ concurrency: 50 });
    (await dispatch(governor, requestTo(account))).settle(answered);
    for (let call = 0; call < 10; call++) (await dispatch(governor, requestTo(account))).settle(ambiguous);
    const calls = Array.from({ length: waiting }, () => ask(governor, requestTo(account)));
    const out = () => calls.filter(({ permit }) => permit !== undefined).map(({ permit }) => permit as Permit);
    const refused = () => calls.filter(({ error }) => error !== undefined);
    return { governor, account, calls, out, refused };
  }

  verifies('BREAKER-PROVIDER-2', 'calls that nobody else can answer wait, and go on once it answers', async () => {
    const clock = new VirtualClock();
    const { governor, account, out, refused } = await outage(clock);
    await clock.advance(999);
    expect([out().length, refused().length]).toEqual([0, 0]);
    expect(governor.snapshot()[0]).toMatchObject({ failing: true, waiting: 20, runs: [{ reason: 'outage' }] });
    await clock.advance(1);
    expect(out()).toHaveLength(1);
    // While they wait one that can go elsewhere takes none of their turns.
    expect(() => governor.permit({ ...requestTo(account), passesOver: true })).toThrow(/mostly fails/);
    await clock.advance(500);
    out()[0]?.settle(ambiguous);
    await clock.advance(1_999);
    expect(out()).toHaveLength(1);
    await clock.advance(1);
    for (const probe of [1, 2, 3]) {
      expect(out()).toHaveLength(1 + probe);
      out()[probe]?.settle(answered);
      await clock.advance(0);
    }
    expect([out().length, refused().length]).toEqual([20, 0]);
  });

  verifies('BREAKER-PROVIDER-2', 'none of them waits longer than providerMaxWait', async () => {
    const clock = new VirtualClock();
    const { governor, account, out, refused } = await outage(clock, 200);
    for (let seconds = 0; seconds < 330; seconds++) {
      await clock.advance(1_000);
      for (const probe of out()) probe.settle(ambiguous);
    }
    expect(refused().length).toBeGreaterThan(5);
    expect(refused()[0]?.error).toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect([out().length + refused().length, governor.snapshot()[0]?.waiting]).toEqual([200, 0]);
    // The next one is the probe that is due, and nobody waits for what becomes of it.
    expect(governor.permit(requestTo(account))).not.toBeInstanceOf(Promise);
    expect(() => governor.permit(requestTo(account))).toThrow(/mostly fails/);
  });

  verifies('BREAKER-PROVIDER-2', 'one that comes to wait for credits leaves its turn to another', async () => {
    const clock = new VirtualClock();
    const { governor, account } = await outage(clock, 0);
    await clock.advance(1_000);
    const budget = createBudget({ limit: 1 });
    budget.reserve(1);
    const poor = ask(governor, { ...requestTo(account), runId: 'poor', budget, maxCredits: 1 });
    const rich = ask(governor, requestTo(account));
    await clock.advance(0);
    expect([poor.permit, rich.permit]).toEqual([undefined, expect.anything()]);
    rich.permit?.settle(answered);
    budget.settle(1, 0);
    await clock.advance(0);
    expect(poor.permit).toBeDefined();
  });

  verifies(
    'BREAKER-PROVIDER-1',
    'opens once ten calls in a row have failed, however many were answered before',
    async () => {
      const governor = governorOn(new VirtualClock());
      const account = accountWith({});
      for (let call = 0; call < 40; call++) (await dispatch(governor, requestTo(account))).settle(answered);
      for (let call = 0; call < 10; call++)
        (await dispatch(governor, requestTo(account))).settle(call === 9 ? answered : ambiguous);
      for (const isFailing of [...Array(9).fill(false), true]) {
        (await dispatch(governor, requestTo(account))).settle(ambiguous);
        expect(governor.health(account).isFailing).toBe(isFailing);
      }
    },
  );

  verifies('BREAKER-PROVIDER-1', 'a few quick failures among many slow answers are no outage', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ concurrency: 200 });
    for (let call = 0; call < 80; call++) (await dispatch(governor, requestTo(account))).settle(answered);
    const slow: Permit[] = [];
    for (let call = 0; call < 60; call++) {
      await clock.advance(10);
      const permit = await dispatch(governor, requestTo(account));
      if (call % 4 === 0) permit.settle(ambiguous);
      else slow.push(permit);
      if (call >= 40) slow.shift()?.settle(answered);
      expect(governor.health(account).isFailing).toBe(false);
    }
  });

  verifies('BREAKER-PROVIDER-3', 'a provider that has never answered is waited for half a minute', async () => {
    for (const [worked, refusedAfter] of [
      [false, 30_000],
      [true, FIVE_MINUTES],
    ] as const) {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({ concurrency: 50 });
      if (worked) (await dispatch(governor, requestTo(account))).settle(answered);
      for (let call = 0; call < 10; call++) (await dispatch(governor, requestTo(account))).settle(ambiguous);
      const calls = Array.from({ length: 200 }, () => ask(governor, requestTo(account)));
      let waitedMs = 0;
      for (; calls.every(({ error }) => error === undefined); waitedMs += 1_000) {
        await clock.advance(1_000);
        for (const { permit } of calls) permit?.settle(ambiguous);
      }
      expect(waitedMs).toBeGreaterThanOrEqual(refusedAfter);
      expect(waitedMs).toBeLessThan(refusedAfter + 35_000);
    }
  });

  verifies(
    'BREAKER-PROVIDER-3',
    'a provider that is reached no more fails; one that never was is asked on',
    async () => {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({});
      const end = (outcome: PermitOutcome): void => (governor.permit(requestTo(account)) as Permit).settle(outcome);
      for (let call = 0; call < 30; call++) end(unreached);
      expect(governor.health(account).isFailing).toBe(false);
      end(answered);
      // What was ended on this side says nothing.
      for (let call = 0; call < 30; call++) end({ ...unreached, isOurs: true });
      for (let call = 0; call < 30; call++) (governor.permit(requestTo(account)) as Permit).release();
      expect(governor.health(account).isFailing).toBe(false);
      for (let call = 0; call < 10; call++) end(unreached);
      expect(governor.health(account).isFailing).toBe(true);
      await clock.advance(1_000);
      end(unreached);
      const waiting = ask(governor, requestTo(account));
      await clock.advance(1_999);
      expect(waiting.permit).toBeUndefined();
      await clock.advance(1);
      expect(waiting.permit).toBeDefined();
    },
  );

  verifies(
    'BREAKER-PROVIDER-1',
    'answers to what went out before the failures began are no sign that it works',
    async () => {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({ concurrency: 100 });
      const slow = await Promise.all(Array.from({ length: 70 }, () => dispatch(governor, requestTo(account))));
      for (const permit of slow.splice(0, 50)) permit.settle(answered);
      await clock.advance(1_000);
      for (const permit of slow.slice(0, 9)) {
        (await dispatch(governor, requestTo(account))).settle(ambiguous);
        permit.settle(answered);
      }
      const later = await dispatch(governor, requestTo(account));
      later.settle(answered);
      for (const [call, permit] of slow.slice(9, 19).entries()) {
        expect(governor.health(account).isFailing).toBe(false);
        (await dispatch(governor, requestTo(account))).settle(ambiguous);
        if (call < 9) permit.settle(answered);
      }
      expect(governor.health(account).isFailing).toBe(true);
    },
  );

  verifies(
    'BREAKER-PROVIDER-2',
    'a provider that answers some of its probes is no silent one, and is asked often',
    async () => {
      const clock = new VirtualClock();
      const { governor, account, out, refused } = await outage(clock, 600);
      // Two answers, and then a failure: never three in a row.
      let probes = 0;
      for (let seconds = 0; seconds < 600; seconds++) {
        await clock.advance(1_000);
        for (let settled = -1; settled !== probes; ) {
          settled = probes;
          for (const probe of out().slice(probes)) {
            probe.settle(++probes % 3 === 0 ? ambiguous : answered);
            await clock.advance(0);
          }
        }
      }
      expect([out().length, refused().length, governor.health(account).isFailing]).toEqual([600, 0, true]);
    },
  );

  verifies('BREAKER-PROVIDER-3', 'is known over processes, and asked for once', async () => {
    const known = new Set<string>();
    let looks = 0;
    const reachState = {
      reached: (account: string) => void known.add(account),
      wasReached: async (account: string) => {
        looks++;
        return known.has(account);
      },
    };
    const account = accountWith({});
    const process = () => {
      const governor = governorOn(new VirtualClock(), { reachState });
      const end = (outcome: PermitOutcome): void => (governor.permit(requestTo(account)) as Permit).settle(outcome);
      return { end, isFailing: () => governor.health(account).isFailing };
    };
    const [first, second] = [process(), process()];
    for (let call = 0; call < 30; call++) first.end(unreached);
    first.end(answered);
    second.end(unreached);
    await Promise.resolve();
    for (let call = 0; call < 10; call++) second.end(unreached);
    expect([first.isFailing(), second.isFailing(), looks]).toEqual([false, true, 2]);
  });

  verifies('BREAKER-PROVIDER-4', 'what fails again after others were answered is no sign of an outage', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({});
    const end = (outcome: PermitOutcome): void => (governor.permit(requestTo(account)) as Permit).settle(outcome);
    for (let call = 0; call < 50; call++) end(answered);
    for (let call = 0; call < 24; call++) end({ ...ambiguous, repeats: 'suspect' });
    expect(governor.health(account)).toMatchObject({ isFailing: false, answers: 50, failedCalls: 0 });
    for (let call = 0; call < 50; call++) end(answered);
    for (const repeats of [undefined, 'failure', undefined, 'failure'] as const) end({ ...ambiguous, repeats });
    expect(governor.health(account).failedCalls).toBe(2);
    for (let call = 0; call < 50; call++) end(answered);
    // A few calls that are tried again and again are no outage, however many of all endings are theirs.
    for (let call = 0; call < 41; call++) end({ ...ambiguous, repeats: 'suspect' });
    for (let call = 0; call < 9; call++) end(call % 3 === 2 ? answered : ambiguous);
    expect(governor.health(account).isFailing).toBe(false);
    for (let call = 0; call < 4; call++) end(ambiguous);
    expect(governor.health(account).isFailing).toBe(true);
    // As probes they go on one by one.
    await clock.advance(1_000);
    for (let probe = 0; probe < 20; probe++) end({ ...unreached, repeats: 'suspect' });
    for (let probe = 0; probe < 3; probe++) end(answered);
    expect(governor.health(account)).toEqual({ isFailing: false, answers: 156, failedCalls: 0, hasWorked: true });
  });

  it('a probe that never went out leaves the place to the next', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ concurrency: 50 });
    for (let call = 0; call < 10; call++) (await dispatch(governor, requestTo(account))).settle(ambiguous);
    await clock.advance(1_000);
    (await governor.permit(requestTo(account))).release();
    expect(governor.permit(requestTo(account))).not.toBeInstanceOf(Promise);
  });

  it('some failures among many answers do not open it', async () => {
    const governor = governorOn(new VirtualClock());
    const account = accountWith({ concurrency: 50 });
    for (let call = 0; call < 300; call++)
      (await dispatch(governor, requestTo(account))).settle(call % 3 === 0 ? ambiguous : answered);
    expect(governor.snapshot()[0]?.failing).toBe(false);
  });
});
