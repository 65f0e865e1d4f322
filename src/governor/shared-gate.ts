import type { Clock } from '../scope/index.ts';

/** The provider takes no call before `until`, as it said at `at`: both wall clock, milliseconds since the epoch. */
export interface Closing {
  readonly at: number;
  readonly until: number;
}

/** Port: where it is kept until when providers have closed their accounts (`rates.db`), for other processes and later ones. */
export interface GateState {
  /** Never throws, and is waited for by nobody. */
  closed(account: string, closing: Closing): void;
  /**
   * That of the latest end that anybody has told of the account; undefined where nobody has. A promise comes only where the state
   * cannot be had at once. Throws, or rejects with, what the place throws in which it is kept.
   */
  closing(account: string): Closing | undefined | Promise<Closing | undefined>;
}

export interface SharedGateParts {
  readonly account: string;
  readonly gateState: GateState;
  readonly clock: Clock;
  /** It has become known what was told before. */
  readonly wake: () => void;
}

const LOOK_MS = 20;
const FAILED_RETRY_MS = 1_000;
/** A quota may be raised, and a provider may name a year to come: the next process asks after an hour at the latest. */
const MOST_KEPT_MS = 3_600_000;

/**
 * What other processes, and earlier ones, were told about when an account takes calls again.
 *
 * Owns: when it was looked at last, and the latest instant that was told or read. Does not own: whether the account is closed
 * (gate).
 *
 * Invariants
 *  1. Nothing is known until the first look has ended; one that fails says that nobody was told anything. No later look holds
 *     anybody up.
 *  2. It is looked at most every 20 ms, and only for calls that would go out: a read, no transaction.
 *  3. What this process has told itself is no news to it, and nothing is kept for more than an hour.
 */
export class SharedGate {
  readonly #parts: SharedGateParts;
  #isKnown = false;
  #lookAt = Number.NEGATIVE_INFINITY;
  /** Wall clock: what is not later was told by this process, or is in `#until`. */
  #told = Number.NEGATIVE_INFINITY;
  #until = Number.NEGATIVE_INFINITY;

  constructor(parts: SharedGateParts) {
    this.#parts = parts;
  }

  /** Until when the account is closed as far as others were told, monotonic; Infinity until that is known. */
  closedUntil(now: number): number {
    if (now >= this.#lookAt) this.#look(now);
    return this.#isKnown ? this.#until : Number.POSITIVE_INFINITY;
  }

  /** The provider has told this process to wait. */
  closed(waitMs: number): void {
    const { gateState, account, clock } = this.#parts;
    const at = clock.now();
    const until = at + Math.min(waitMs, MOST_KEPT_MS);
    if (until <= this.#told) return;
    this.#told = until;
    gateState.closed(account, { at, until });
  }

  #look(now: number): void {
    const { gateState, account } = this.#parts;
    this.#lookAt = now + LOOK_MS;
    try {
      const read = gateState.closing(account);
      if (read instanceof Promise) this.#await(read);
      else this.#learn(read);
    } catch {
      this.#learn(undefined);
    }
  }

  #await(read: Promise<Closing | undefined>): void {
    const { clock, wake } = this.#parts;
    this.#lookAt = Number.POSITIVE_INFINITY;
    const learn = (closing: Closing | undefined, againMs: number): void => {
      this.#lookAt = clock.monotonic() + againMs;
      this.#learn(closing);
      wake();
    };
    read.then(
      (closing) => learn(closing, LOOK_MS),
      () => learn(undefined, FAILED_RETRY_MS),
    );
  }

  #learn(closing: Closing | undefined): void {
    this.#isKnown = true;
    if (closing === undefined || closing.until <= this.#told) return;
    const { at, until } = closing;
    this.#told = until;
    const { clock } = this.#parts;
    // Where the wall clock was set back meanwhile, the instant is further off than the provider has said.
    this.#until = clock.monotonic() + until - Math.max(at, clock.now());
  }
}
