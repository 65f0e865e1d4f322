import type { Chance } from '../scope/index.ts';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
const RETRY_SHARE = 0.2;
/** As many failures as it takes at most until an account is seen to be out (provider-breaker). */
const OUTAGE_FAILURES = 25;

/**
 * Milliseconds to wait before try number `tryNo` + 1: exponential with full jitter, so that calls which failed together
 * don't come back together (the AWS Architecture Blog's "Exponential Backoff And Jitter").
 *
 * @param tryNo tries already made, from 1
 */
export function retryDelay(tryNo: number, chance: Chance): number {
  const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(20, Math.max(0, tryNo - 1)));
  return Math.round(ceiling * uniform(chance));
}

/** A number from 0 (included) to 1 (excluded). */
export function uniform(chance: Chance): number {
  const [a = 0, b = 0, c = 0, d = 0] = chance.bytes(4);
  return (a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d) / 2 ** 32;
}

/** Retries of one run: a failing provider may not multiply the run's calls. */
export interface RetryBudget {
  /** A call of the run went out for the first time. */
  called(): void;
  /**
   * Takes one retry; false where the run has used its share up. An account that is out takes none, since the breaker lets its calls
   * out one by one, and gives back what it took until that was seen.
   */
  take(of: { readonly account: string; readonly isOut: boolean }): boolean;
  snapshot(): { readonly calls: number; readonly retries: number; readonly allowed: number };
}

/** A fifth of the run's calls, and at least what an outage takes until it is seen; counters of earlier attempts go in. */
export function createRetryBudget(earlier: { readonly calls?: number; readonly retries?: number } = {}): RetryBudget {
  let calls = earlier.calls ?? 0;
  let retries = earlier.retries ?? 0;
  /** What each account took of late. */
  const taken = new Map<string, number>();
  const allowed = (): number => Math.max(OUTAGE_FAILURES, Math.floor(calls * RETRY_SHARE));
  return {
    called() {
      calls++;
    },
    take({ account, isOut }) {
      const before = taken.get(account) ?? 0;
      if (isOut) {
        retries -= Math.min(before, OUTAGE_FAILURES);
        taken.delete(account);
        return true;
      }
      if (retries >= allowed()) return false;
      retries++;
      taken.set(account, before + 1);
      return true;
    },
    snapshot: () => ({ calls, retries, allowed: allowed() }),
  };
}
