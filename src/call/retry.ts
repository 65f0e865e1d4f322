import type { Effect, Ending } from '../sdk/index.ts';
import type { Failure } from '../tool/index.ts';

export interface TriesSoFar {
  /** Requests that went out or tried to, this one included. */
  readonly tries: number;
  readonly maxTries: number;
  readonly effect: Effect;
  /** True where a repeat carries the same idempotency key. */
  readonly keyed: boolean;
}

export type RetryDecision =
  | { readonly retry: false }
  /** `counts`: draws on the tries of the call; `draws`: on the retries of the run, too. */
  | { readonly retry: true; readonly counts: boolean; readonly draws: boolean; readonly waits: 'gate' | 'backoff' };

const STOP: RetryDecision = { retry: false };

/** True where the provider definitely did not do it: only then goes the operation out under another key. */
export function isRefusal(ending: Ending): boolean {
  return ending === 'rejected' || ending === 'deferred';
}

/** What is looked at before anybody looks for an earlier request of the same key: whose account it is, and what it may spend. */
const ACCOUNT_STATUSES: readonly unknown[] = [401, 402, 403];

/**
 * True where a refusal also says that no earlier request under the same key was done: the provider has looked at what is asked. A
 * limit of calls (429, 503) is kept before that.
 */
export function provesUndone({ ending, status }: Pick<Failure, 'ending' | 'status'>): boolean {
  return ending === 'rejected' && !ACCOUNT_STATUSES.includes(status);
}

/** Whether an ending may be tried again, by what it means for money (30-calls, "Delivery"). Pure. */
export function retryDecision(ending: Exclude<Ending, 'answered'>, so: TriesSoFar): RetryDecision {
  if (ending === 'rejected') return STOP;
  // The first request is still at work: asking again under its key is waiting, not another try.
  if (ending === 'inProgress') return { retry: true, counts: false, draws: false, waits: 'backoff' };
  if (so.tries >= so.maxTries) return STOP;
  // How often a provider is asked that refuses is the account's pace to decide, not how much of the run it has refused.
  if (ending === 'deferred') return { retry: true, counts: true, draws: false, waits: 'gate' };
  const repeatable = ending === 'notDispatched' || so.effect !== 'write' || so.keyed;
  return repeatable ? { retry: true, counts: true, draws: true, waits: 'backoff' } : STOP;
}
