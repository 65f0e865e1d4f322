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

  const up = { account: 'acme/default', isOut: false };

  verifies('RETRY-BUDGET-1', 'draw on a fifth of the calls of the run, at least 25', () => {
    const budget = createRetryBudget();
    for (let retry = 0; retry < 25; retry++) expect(budget.take(up)).toBe(true);
    expect(budget.take(up)).toBe(false);
    for (let call = 0; call < 200; call++) budget.called();
    expect(Array.from({ length: 20 }, () => budget.take(up)).filter(Boolean).length).toBe(15);
    expect(budget.snapshot()).toEqual({ calls: 200, retries: 40, allowed: 40 });
    expect(createRetryBudget({ calls: 200, retries: 40 }).take(up)).toBe(false);
  });

  verifies('RETRY-BUDGET-3', 'of an account that is out draw on nothing, and it gives back what showed that', () => {
    const budget = createRetryBudget();
    const other = { account: 'other/default', isOut: false };
    for (let retry = 0; retry < 15; retry++) budget.take(up);
    for (let retry = 0; retry < 10; retry++) budget.take(other);
    expect(budget.take(up)).toBe(false);
    for (let retry = 0; retry < 40; retry++) expect(budget.take({ ...up, isOut: true })).toBe(true);
    expect(budget.snapshot().retries).toBe(10);
    // No more than that: what it took long before is taken.
    for (let call = 0; call < 1_000; call++) budget.called();
    for (let retry = 0; retry < 100; retry++) budget.take(other);
    budget.take({ ...other, isOut: true });
    expect(budget.snapshot().retries).toBe(10 + 100 - 25);
  });
});
