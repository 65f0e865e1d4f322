import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { patienceOf, repeated, type Tries, triesAfter } from './tries.ts';

describe('a call that fails', () => {
  const MINUTE = 60_000;
  const out = { isFailing: false, answers: 7, failedCalls: 5, hasWorked: true };
  const begun = () => triesAfter({ tries: 0, refusals: 0 });
  const keyed = { maxTries: 5, maxCredits: 1, sendsIdempotencyKey: true };
  const isPatient = (so: Tries, health: typeof out, now: number, isParkable = false): boolean => {
    const { maxTries, stepsAside } = patienceOf(keyed, { so, health, now, isParkable });
    so.stepsAside = stepsAside;
    return maxTries === Number.POSITIVE_INFINITY;
  };

  verifies('RETRY-OUTAGE-1', 'is tried on for a minute, where its provider worked before and fails others, too', () => {
    const so = begun();
    expect(isPatient(so, out, 0)).toBe(false);
    for (const now of [1_000, 30_000]) repeated(so, 'ambiguous', { answers: 7, now });
    expect([isPatient(so, out, MINUTE + 999), isPatient(so, out, MINUTE + 1_000)]).toEqual([true, false]);
    // It may be the only one that fails, or nobody was ever answered.
    expect(isPatient(so, { ...out, failedCalls: 4, isFailing: true }, 2_000)).toBe(false);
    expect(isPatient(so, { ...out, hasWorked: false }, 2_000)).toBe(false);
  });

  verifies('RETRY-OUTAGE-2', 'and whose row can be parked steps aside after its last try, until others tell', () => {
    const so = begun();
    repeated(so, 'ambiguous', { answers: 7, now: 0 });
    const few = { ...out, failedCalls: 1 };
    so.counted = 3;
    expect([isPatient(so, few, 0, false), isPatient(so, few, 0, true), so.stepsAside]).toEqual([false, true, false]);
    so.counted = 4;
    expect([isPatient(so, few, 0, true), so.stepsAside]).toEqual([true, true]);
    expect([isPatient(so, few, 9_999, true), isPatient(so, few, 10_000, true)]).toEqual([true, false]);
    // Others were answered: it fails by its own fault.
    repeated(so, 'ambiguous', { answers: 8, now: 1 });
    expect(isPatient(so, few, 1, true)).toBe(false);
  });

  verifies(
    ['RETRY-OUTAGE-1', 'BREAKER-PROVIDER-4'],
    'again after others were answered is suspect, and stays so',
    () => {
      const so = begun();
      const fail = (answers: number) => repeated(so, 'ambiguous', { answers, now: 0 });
      expect([fail(7), fail(7), fail(8), fail(8)]).toEqual([undefined, 'failure', 'suspect', 'suspect']);
      expect(isPatient(so, out, 0)).toBe(false);
      const deferred = begun();
      for (const answers of [1, 2, 3]) expect(repeated(deferred, 'deferred', { answers, now: 0 })).toBe(undefined);
      expect(repeated(deferred, 'ambiguous', { answers: 4, now: 0 })).toBe(undefined);
    },
  );
});
