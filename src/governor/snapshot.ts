import type { Lane, WaitReason } from './waiter.ts';
import type { WindowLimit } from './window.ts';

/** One run's calls that wait for one account. */
export interface RunWait {
  readonly runId: string;
  readonly account: string;
  readonly waiting: number;
  readonly reason: WaitReason;
  /** Milliseconds since the epoch; null where only an ending can tell. */
  readonly until: number | null;
  /** How long its first call has waited, in milliseconds. */
  readonly sinceMs: number;
}

/** The numbers that the governor decides with, as people and `runs show` see them. */
export interface AccountSnapshot {
  readonly account: string;
  /** Calls per second that the limits let through at present, declared or learnt from refusals; null where there is none. */
  readonly allowedRate: number | null;
  /** The declared windows; a rate over ten seconds may be above that of a longer one. */
  readonly limits: readonly Pick<WindowLimit, 'calls' | 'perMs'>[];
  /** Calls per second over the last ten seconds. */
  readonly usedRate: number;
  readonly waiting: number;
  readonly inFlight: number;
  /** How many may be in flight, declared or found out; null where nothing limits it (function tools). */
  readonly concurrency: number | null;
  /** Milliseconds since the epoch; null where the account takes calls. */
  readonly gateClosedUntil: number | null;
  /** Calls that the provider deferred (429, 503). */
  readonly deferred: number;
  readonly credits: number;
  /** True while it is tried at a trickle. */
  readonly failing: boolean;
  readonly runs: readonly RunWait[];
}

/** What the run of a lane waits for, at `now` on the monotonic clock. */
export function runWait(
  { held, runId, size, first }: Lane,
  at: Pick<RunWait, 'account' | 'reason' | 'until'> & { readonly now: number },
): RunWait {
  const reason = held ? 'credits' : at.reason;
  const until = held || reason === 'concurrency' ? null : at.until;
  return { runId, account: at.account, waiting: size, reason, until, sinceMs: at.now - first.since };
}
