import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type Chance, VirtualClock } from '../scope/index.ts';
import { RunFatalError } from '../sdk/index.ts';
import { createPersistenceBreaker } from './persistence-breaker.ts';
import { createRetryBudget, retryDelay } from './retry.ts';
import { accountWith, answered, governorOn, middle, requestTo } from './simulation.test-support.ts';

describe('persistence breaker', () => {
  verifies(
    'STORE-BREAKER-1',
    'while it is open no permit is given, those who wait are refused, and all are counted',
    async () => {
      const persistence = createPersistenceBreaker();
      const clock = new VirtualClock();
      const governor = governorOn(clock, { persistence });
      const account = accountWith({ concurrency: 1 });
      const flying = await governor.permit(requestTo(account));
      const waiting = Promise.resolve(governor.permit(requestTo(account))).catch((error) => error);
      persistence.open('the disk is full');
      expect(await waiting).toBeInstanceOf(RunFatalError);
      expect(() => governor.permit(requestTo(account))).toThrow(
        expect.objectContaining({
          code: 'PERSISTENCE_BREAKER',
          message: 'No further provider call goes out: the disk is full.',
        }),
      );
      expect(persistence).toMatchObject({ isOpen: true, prevented: 2, reason: 'the disk is full' });
      flying.settle(answered);
      persistence.close();
      expect(governor.permit(requestTo(account))).not.toBeInstanceOf(Promise);
      expect(persistence.prevented).toBe(2);
    },
  );

  it('keeps the first reason', () => {
    const persistence = createPersistenceBreaker();
    persistence.open('first');
    persistence.open('second');
    expect(persistence.reason).toBe('first');
  });
});

describe('retries', () => {
  const most: Chance = { bytes: (count) => new Uint8Array(count).fill(0xff) };
  const least: Chance = { bytes: (count) => new Uint8Array(count) };

  it('wait exponentially with full jitter, up to half a minute', () => {
    expect([1, 2, 3, 4].map((tryNo) => retryDelay(tryNo, most))).toEqual([500, 1_000, 2_000, 4_000]);
    expect(retryDelay(3, middle)).toBe(1_004);
    expect(retryDelay(3, least)).toBe(0);
    expect([20, 2_000].map((tryNo) => retryDelay(tryNo, most))).toEqual([30_000, 30_000]);
  });

  verifies('RETRY-BUDGET-1', 'draw on a fifth of the calls of the run, at least ten', () => {
    const budget = createRetryBudget();
    for (let retry = 0; retry < 10; retry++) expect(budget.take()).toBe(true);
    expect(budget.take()).toBe(false);
    for (let call = 0; call < 100; call++) budget.called();
    expect(Array.from({ length: 12 }, () => budget.take()).filter(Boolean).length).toBe(10);
    expect(budget.snapshot()).toEqual({ calls: 100, retries: 20, allowed: 20 });
    expect(createRetryBudget({ calls: 100, retries: 20 }).take()).toBe(false);
  });
});
