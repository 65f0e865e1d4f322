import type { Effect, Ending } from '../sdk/index.ts';

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
  /** `counts`: draws on the tries. */
  | { readonly retry: true; readonly counts: boolean; readonly waits: 'gate' | 'backoff' };

const STOP: RetryDecision = { retry: false };

/** True where the provider definitely did not do it: only then goes the operation out under another key. */
export function isRefusal(ending: Ending): boolean {
  return ending === 'rejected' || ending === 'deferred';
}

/** Whether an ending may be tried again, by what it means for money (30-calls, "Delivery"). Pure. */
export function retryDecision(ending: Exclude<Ending, 'answered'>, so: TriesSoFar): RetryDecision {
  if (ending === 'rejected') return STOP;
  // The first request is still at work: asking again under its key is waiting, not another try.
  if (ending === 'inProgress') return { retry: true, counts: false, waits: 'backoff' };
  if (so.tries >= so.maxTries) return STOP;
  if (ending === 'deferred') return { retry: true, counts: true, waits: 'gate' };
  if (ending === 'notDispatched') return { retry: true, counts: true, waits: 'backoff' };
  const repeatable = so.effect !== 'write' || so.keyed;
  return repeatable ? { retry: true, counts: true, waits: 'backoff' } : STOP;
}
