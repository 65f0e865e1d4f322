import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import { isProviderUnavailable, ProviderExhaustedError, type ProviderLimits } from '../sdk/index.ts';
import type { Permit } from './permit.ts';
import { LongWait } from './refusals.ts';
import {
  accountWith,
  answered,
  ask,
  deferredFor,
  dispatch,
  FIVE_MINUTES,
  governorOn,
  requestTo,
} from './simulation.test-support.ts';

describe('back-pressure', () => {
  verifies(
    'PACE-GATE-1',
    'a deferred answer closes the account for everyone until the time of the provider',
    async () => {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({});
      const permit = await dispatch(governor, requestTo(account));
      permit.settle({ ending: 'deferred', credits: 0, latencyMs: 5, headers: { 'retry-after': '20' } });
      const other = ask(governor, requestTo(account, { runId: 'run_b', tool: 'hunter.verify' }));
      await clock.advance(19_999);
      expect(other.permit).toBeUndefined();
      expect(governor.snapshot()[0]).toMatchObject({ deferred: 1, waiting: 1, gateClosedUntil: clock.now() + 1 });
      expect(governor.waits()).toMatchObject([{ runId: 'run_b', reason: 'gate', until: clock.now() + 1 }]);
      await clock.advance(2);
      expect(other.permit).toBeDefined();
      expect(governor.snapshot()[0]?.gateClosedUntil).toBe(null);
    },
  );

  verifies('PACE-GATE-1', 'it opens with a slow ramp: one call, then one more for every answer', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ concurrency: 100 });
    (await dispatch(governor, requestTo(account))).settle(deferredFor(1_000));
    const asked = Array.from({ length: 10 }, () => ask(governor, requestTo(account)));
    const given = (): Permit[] => asked.flatMap(({ permit }) => (permit === undefined ? [] : [permit]));
    await clock.advance(2_000);
    expect(given().length).toBe(1);
    let settled = 0;
    const sizes: number[] = [];
    for (let round = 0; round < 3; round++) {
      const flying = given().slice(settled);
      settled += flying.length;
      for (const permit of flying) permit.dispatched();
      for (const permit of flying) permit.settle(answered);
      await clock.advance(1);
      sizes.push(given().length - settled);
    }
    expect(sizes).toEqual([2, 4, 3]);
  });

  it('without a time it backs off, longer with every episode, and refusals of one burst are one episode', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ concurrency: 100 });
    const waits: number[] = [];
    for (let episode = 0; episode < 4; episode++) {
      const burst = [await dispatch(governor, requestTo(account))];
      if (episode === 0) for (let call = 0; call < 9; call++) burst.push(await dispatch(governor, requestTo(account)));
      await clock.advance(5);
      for (const permit of burst) permit.settle(deferredFor());
      waits.push((governor.snapshot()[0]?.gateClosedUntil ?? 0) - clock.now());
      await clock.advance((waits.at(-1) ?? 0) + 1);
    }
    // Chance is fixed at the middle: full jitter gives half of 1, 2, 4, 8 s.
    expect(waits.map((ms) => Math.round(ms / 100) * 100)).toEqual([500, 1_000, 2_000, 4_000]);
  });

  it('a later refusal of the same burst can only put the opening off', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({});
    const burst = [await dispatch(governor, requestTo(account)), await dispatch(governor, requestTo(account))];
    burst[0]?.settle(deferredFor(10_000));
    burst[1]?.settle(deferredFor(2_000));
    expect(governor.snapshot()[0]?.gateClosedUntil).toBe(clock.now() + 10_000);
  });

  verifies(
    'PACE-EXHAUSTED-1',
    'a wait beyond the maximum fails at once, with retryAt and the facts of the call',
    async () => {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({});
      const flying = await dispatch(governor, requestTo(account));
      const waiting = Array.from({ length: 10 }, () => ask(governor, requestTo(account)));
      await clock.advance(0);
      flying.settle(deferredFor(FIVE_MINUTES + 1_000));
      waiting.push(ask(governor, requestTo(account)));
      await clock.advance(0);
      const late = waiting.at(-1)?.error;
      expect(late).toBeInstanceOf(ProviderExhaustedError);
      expect(isProviderUnavailable(late)).toBe(true);
      expect(late).toMatchObject({
        code: 'PROVIDER_EXHAUSTED',
        tool: 'hunter.email_finder',
        provider: 'hunter',
        operation: 'find',
        retryAfterMs: FIVE_MINUTES + 1_000,
        retryAt: new Date(clock.now() + FIVE_MINUTES + 1_000).toISOString(),
        message: expect.stringMatching(/^hunter\/default takes no call before 2026-\S+: it asked us to wait\.$/),
      });
      expect((late as ProviderExhaustedError).next.length).toBeGreaterThan(0);
    },
  );

  verifies('PACE-EXHAUSTED-4', 'who can ask another provider does within a second, named time or not', async () => {
    for (const namedMs of [undefined, 500]) {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({ concurrency: 10 });
      const leg = { ...requestTo(account), passesOver: true };
      const flying = await Promise.all(Array.from({ length: 10 }, () => dispatch(governor, leg)));
      for (const permit of flying) permit.settle(deferredFor(namedMs));
      const legs = Array.from({ length: 10 }, () => ask(governor, leg));
      const other = ask(governor, requestTo(account));
      await clock.advance(0);
      expect(legs.every(({ error }) => error === undefined)).toBe(true);
      for (let ms = 0; ms < 1_000 && legs.every(({ permit }) => permit === undefined); ms++) await clock.advance(1);
      const probe = legs.find(({ permit }) => permit !== undefined);
      probe?.permit?.dispatched();
      probe?.permit?.settle(deferredFor(namedMs));
      await clock.advance(0);
      const passed = legs.filter(({ error }) => error instanceof ProviderExhaustedError);
      expect([passed.length, other.error, other.permit]).toEqual([9, undefined, undefined]);
      // Once it takes a call again they are asked no more to go elsewhere.
      while (other.permit === undefined) await clock.advance(100);
      other.permit.dispatched();
      other.permit.settle(answered);
      (await dispatch(governor, leg)).settle(answered);
    }
  });

  verifies('PACE-EXHAUSTED-1', 'those who wait already are refused too once the quota proves used up', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ rate: [{ calls: 5, per: '1h' }], concurrency: 1 });
    const asked = Array.from({ length: 8 }, () => ask(governor, requestTo(account)));
    for (let step = 0; step < 8; step++) {
      await clock.advance(1);
      const { permit } = asked[step] ?? {};
      permit?.dispatched();
      permit?.settle(answered);
    }
    await clock.advance(1);
    expect(asked.map(({ permit, error }) => (permit ? 'permit' : (error as { code?: string })?.code))).toEqual([
      ...Array(5).fill('permit'),
      ...Array(3).fill('PROVIDER_EXHAUSTED'),
    ]);
    expect(clock.pending()).toEqual([]);
  });

  verifies(
    ['PACE-EXHAUSTED-2', 'PACE-EXHAUSTED-3'],
    'a provider that names no time and refuses all calls is given up on after the same',
    async () => {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({});
      const codes = new Map<string, number>();
      const began = clock.now();
      let gaveUpAfter = 0;
      while (clock.now() - began < 2 * FIVE_MINUTES) {
        const one = ask(governor, requestTo(account));
        while (one.permit === undefined && one.error === undefined) await clock.advance(500);
        const code = (one.error as { code?: string } | undefined)?.code ?? 'asked';
        if (code === 'PROVIDER_EXHAUSTED')
          expect((one.error as Error).message).toMatch(
            /^hunter\/default has refused every call for \d{3} s, and is asked/,
          );
        codes.set(code, (codes.get(code) ?? 0) + 1);
        if (code === 'PROVIDER_EXHAUSTED' && gaveUpAfter === 0) gaveUpAfter = clock.now() - began;
        one.permit?.dispatched();
        one.permit?.settle({ ending: 'deferred', credits: 0, latencyMs: 5 });
        await clock.advance(500);
      }
      expect(gaveUpAfter).toBeGreaterThanOrEqual(FIVE_MINUTES);
      expect(gaveUpAfter).toBeLessThan(FIVE_MINUTES + 61_000);
      // It is tried all the same, so that it is known when it takes calls again.
      expect(codes.get('asked')).toBeGreaterThan(10);
      const last = ask(governor, requestTo(account));
      await clock.advance(61_000);
      const next = last.permit ?? (await dispatch(governor, requestTo(account)));
      next.dispatched();
      next.settle(answered);
      expect(ask(governor, requestTo(account)).error).toBeUndefined();
    },
  );

  verifies('PACE-EXHAUSTED-3', 'a time that is a guess is not called the one that the provider asked for', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock, { providerMaxWaitMs: 100 });
    const account = accountWith({});
    (await dispatch(governor, requestTo(account))).settle({ ending: 'deferred', credits: 0, latencyMs: 5 });
    const late = ask(governor, requestTo(account));
    await clock.advance(0);
    expect((late.error as Error).message).toMatch(
      /^hunter\/default has refused calls, and is not asked again before 2026/,
    );
  });

  verifies('PACE-EXHAUSTED-1', 'a caller that can park is told until when, and others go on waiting', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ rate: [{ calls: 1, per: '1m' }] });
    (await dispatch(governor, requestTo(account))).settle(answered);
    const parks = ask(governor, requestTo(account, { rowWaitMs: 30_000 }));
    const waits = ask(governor, requestTo(account));
    await clock.advance(1);
    expect(parks.error).toBeInstanceOf(LongWait);
    const { until } = parks.error as LongWait;
    expect(until - clock.now()).toBeGreaterThan(60_000);
    expect(until - clock.now()).toBeLessThan(62_000);
    expect(governor.expectedWaitMs(account)).toBeGreaterThan(60_000);
    await clock.advance(62_000);
    expect(waits.permit).toBeDefined();
  });
});

describe('concurrency', () => {
  verifies('PACE-CONCURRENCY-1', 'no more are in flight than declared', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({ concurrency: 3 });
    const asked = Array.from({ length: 10 }, () => ask(governor, requestTo(account)));
    const ended = new Set<Permit>();
    for (let step = 0; step < 10; step++) {
      await clock.advance(1);
      const flying = asked.flatMap(({ permit }) => (permit && !ended.has(permit) ? [permit] : []));
      expect(flying.length).toBe(Math.min(3, 10 - step));
      const first = flying[0];
      first?.dispatched();
      first?.settle(answered);
      first?.settle(answered);
      first?.release();
      if (first) ended.add(first);
    }
    expect(governor.snapshot()[0]).toMatchObject({ inFlight: 0, credits: 10, concurrency: 3 });
  });

  verifies(
    'PACE-ADAPTIVE-1',
    'where none is declared it starts at 8, grows under load and is halved by a refusal',
    async () => {
      const clock = new VirtualClock();
      const governor = governorOn(clock);
      const account = accountWith({});
      const limit = (): number => governor.snapshot()[0]?.concurrency ?? 0;
      const stop = new AbortController();
      let refuse = false;
      const worker = async (): Promise<void> => {
        while (!stop.signal.aborted) {
          const permit = await dispatch(governor, requestTo(account));
          await new Promise<void>((resolve) => void clock.after(100, resolve));
          permit.settle(refuse ? deferredFor(500) : { ...answered, latencyMs: 100 });
        }
      };
      for (let row = 0; row < 64; row++) void worker();
      await clock.advance(50);
      expect([limit(), governor.snapshot()[0]?.inFlight]).toEqual([8, 8]);
      await clock.advance(3_000);
      const grown = limit();
      expect(grown).toBeGreaterThan(20);
      refuse = true;
      await clock.advance(100);
      refuse = false;
      expect(limit()).toBe(Math.floor(grown / 2));
      stop.abort();
    },
  );

  /** Rows that a provider answers after 1 to 4 seconds, in turns; how long they took, and the most in flight. */
  async function slowly(limits: ProviderLimits, rows: number, refuse = (_call: number): boolean => false) {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith(limits);
    const began = clock.monotonic();
    let [left, call, done, most, endedAt] = [rows, 0, 0, 0, Number.POSITIVE_INFINITY];
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const permit = await dispatch(governor, requestTo(account));
        most = Math.max(most, governor.snapshot()[0]?.inFlight ?? 0);
        const latencyMs = 1_000 + ((call * 7) % 31) * 100;
        const isRefused = refuse(call++);
        await new Promise<void>((resolve) => void clock.after(latencyMs, resolve));
        permit.settle(isRefused ? deferredFor(500) : { ...answered, latencyMs });
        if (++done === rows) endedAt = clock.monotonic();
      }
    };
    for (let row = 0; row < 300; row++) void worker();
    await clock.advance(200_000);
    return { seconds: (endedAt - began) / 1_000, most };
  }

  verifies('PACE-ADAPTIVE-2', 'a declared rate is used though the provider is slow', async () => {
    const { seconds, most } = await slowly({ rate: [{ calls: 50, per: '1s' }] }, 1_000);
    expect(seconds).toBeLessThan(38);
    // Not more than the rate needs, either.
    expect(most).toBeLessThan(160);
  });

  verifies('PACE-ADAPTIVE-2', 'where nothing is declared, or after a refusal, it grows by one a round', async () => {
    expect((await slowly({}, 400)).most).toBeLessThan(40);
    const rate = [{ calls: 50, per: '1s' }];
    expect((await slowly({ rate }, 400, (call) => call === 10)).most).toBeLessThan(40);
  });

  verifies('PACE-ADAPTIVE-1', 'rising latency halves it', async () => {
    const clock = new VirtualClock();
    const governor = governorOn(clock);
    const account = accountWith({});
    let latencyMs = 50;
    const worker = async (): Promise<void> => {
      for (;;) {
        const permit = await dispatch(governor, requestTo(account));
        const took = latencyMs;
        await new Promise<void>((resolve) => void clock.after(took, resolve));
        permit.settle({ ...answered, latencyMs: took });
      }
    };
    for (let row = 0; row < 32; row++) void worker();
    await clock.advance(2_000);
    const grown = governor.snapshot()[0]?.concurrency ?? 0;
    latencyMs = 1_000;
    await clock.advance(3_000);
    expect(governor.snapshot()[0]?.concurrency).toBeLessThanOrEqual(Math.ceil(grown / 2) + 3);
  });

  it('function tools of an account without declared limits are not limited', () => {
    const governor = governorOn(new VirtualClock());
    const account = accountWith({});
    const permits = Array.from({ length: 500 }, () => governor.permit(requestTo(account, { unlimited: true })));
    expect(permits.every((permit) => !(permit instanceof Promise))).toBe(true);
    expect(governor.snapshot()[0]).toMatchObject({ inFlight: 500, concurrency: null, allowedRate: null });
  });
});
