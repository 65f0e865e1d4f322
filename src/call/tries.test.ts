import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { hasFailedBefore, isPatient, triesAfter } from './tries.ts';

describe('a call that fails', () => {
  const MINUTE = 60_000;
  const begun = () => triesAfter({ tries: 0, refusals: 0 });

  verifies(
    'RETRY-OUTAGE-1',
    'is tried on for a minute, where its provider was reached before and answers nobody now',
    () => {
      const so = begun();
      expect(isPatient(so, 0)).toBe(false);
      for (const now of [1_000, 30_000]) hasFailedBefore(so, 'ambiguous', { answers: 0, hasWorked: true, now });
      expect([isPatient(so, MINUTE + 999), isPatient(so, MINUTE + 1_000)]).toEqual([true, false]);
      const never = begun();
      hasFailedBefore(never, 'notDispatched', { answers: 0, hasWorked: false, now: 0 });
      expect(isPatient(never, 0)).toBe(false);
    },
  );

  verifies(
    ['RETRY-OUTAGE-1', 'BREAKER-PROVIDER-4'],
    'again after others were answered is suspect, and stays so',
    () => {
      const so = begun();
      const fail = (answers: number) => hasFailedBefore(so, 'ambiguous', { answers, hasWorked: true, now: 0 });
      expect([fail(7), fail(7), fail(8), fail(8)]).toEqual([false, false, true, true]);
      expect(isPatient(so, 0)).toBe(false);
      const deferred = begun();
      for (const answers of [1, 2, 3])
        expect(hasFailedBefore(deferred, 'deferred', { answers, hasWorked: true, now: 0 })).toBe(false);
      expect(hasFailedBefore(deferred, 'ambiguous', { answers: 4, hasWorked: true, now: 0 })).toBe(false);
    },
  );
});
