import type { CreditWaiter } from './budget.ts';
import type { Permit, PermitRequest } from './permit.ts';

/** What holds a call, or a run, back. */
export type WaitReason = 'pace' | 'concurrency' | 'gate' | 'credits' | 'turn' | 'outage';

/**
 * A call that waits for its permit: its place in a lane, and the promise its caller holds.
 *
 * Owned by the account from `permit` until it is granted or refused; exactly one of `resolve` and `reject` is called.
 */
export interface Waiter extends CreditWaiter {
  readonly request: PermitRequest;
  readonly runId: string;
  readonly since: number;
  /** When its turn came; undefined before. */
  firstAt: number | undefined;
  /** True where it is to be the probe of an open provider breaker. */
  probe: boolean;
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: unknown) => void;
  /** 'queued': its turn has come and its lane is held until the budget has room; 'held': they are reserved. */
  credits: 'none' | 'queued' | 'held';
  onAbort: (() => void) | undefined;
  lane: Lane | undefined;
  previous: Waiter | undefined;
  following: Waiter | undefined;
}

export interface Lane {
  readonly name: string;
  readonly runId: string;
  first: Waiter;
  last: Waiter;
  size: number;
  held: boolean;
}
