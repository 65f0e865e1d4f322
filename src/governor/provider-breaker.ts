import type { Clock } from '../scope/index.ts';
import type { ProviderTransientError } from '../sdk/index.ts';
import type { PermitOutcome, PermitRequest } from './permit.ts';
import { unavailable } from './refusals.ts';

/**
 * Keeps calls away from an account that mostly fails: 5xx, time-outs, resets (everything that ends `ambiguous`), and connections
 * that cannot be made any more.
 *
 * Owns: the share of failures among the last endings, and the probes while it is open.
 *
 * Invariants
 *  1. It opens when the last ten endings, or half of the last fifty and ten at least, were failures. An account that was never
 *     reached is no failing one: its address may be wrong. What failed before others were answered, and fails again, counts
 *     for the half alone, and as a probe it says nothing: calls that fail by their own fault are what is left of a run.
 *  2. While it is open at most one probe is out, and probes start at least `probeEveryMs` apart: 1 s at first, doubled by
 *     every failed probe up to 30 s.
 *  3. Three probes answered in a row close it; the history starts afresh.
 *  4. Meanwhile who can ask another provider is refused at once, and the others once it has been open for `maxWaitMs`.
 */
export class ProviderBreaker {
  readonly #maxWaitMs: number;
  readonly #failed = new Uint8Array(HISTORY);
  #seen = 0;
  #failures = 0;
  #failuresInARow = 0;
  #isReached = false;
  #answers = 0;
  #openedAt: number | undefined;
  #probing = false;
  #probeEveryMs = FIRST_PROBE_MS;
  #nextProbeAt = 0;
  #answeredProbes = 0;

  /** @param maxWaitMs how long a call waits that nobody else can answer */
  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** How many calls were answered. */
  get answers(): number {
    return this.#answers;
  }

  /** Whether it has been open for longer than anybody waits. */
  isLong(now: number): boolean {
    return this.#openedAt !== undefined && now - this.#openedAt > this.#maxWaitMs;
  }

  /** What a call that may not go now is refused with; undefined where it waits: nobody else can answer it. */
  refusal(request: PermitRequest, now: number): ProviderTransientError | undefined {
    if (request.passesOver !== true && !this.isLong(now)) return undefined;
    return unavailable(request, Math.max(0, this.#nextProbeAt - now));
  }

  /** While open: true where the call takes the probe that is due, false where it waits. Throws its refusal. */
  admits(request: PermitRequest, othersWait: boolean, now: number): boolean {
    if (!othersWait && this.takeProbe(now)) return true;
    const refusal = this.refusal(request, now);
    if (refusal !== undefined) throw refusal;
    return false;
  }

  /** When a call that is no probe may become one, on the monotonic clock: infinity while one is out, whose end nobody knows. */
  get blockedUntil(): number {
    if (this.#openedAt === undefined) return 0;
    return this.#probing ? Number.POSITIVE_INFINITY : this.#nextProbeAt;
  }

  /** While open: true takes the probe that is due. */
  takeProbe(now: number): boolean {
    if (this.#probing || now < this.#nextProbeAt) return false;
    this.#probing = true;
    return true;
  }

  /** Ends a probe. */
  probed(as: Seen, now: number): void {
    this.#probing = false;
    if (as === undefined || as === 'suspect') {
      this.#nextProbeAt = now;
    } else if (as === 'answered') {
      this.#nextProbeAt = now;
      this.#answers++;
      this.#answeredProbes++;
      if (this.#answeredProbes >= PROBES_TO_CLOSE) this.#close();
    } else {
      this.#answeredProbes = 0;
      this.#probeEveryMs = Math.min(LONGEST_PROBE_MS, this.#probeEveryMs * 2);
      this.#nextProbeAt = now + this.#probeEveryMs;
    }
  }

  /** Counts the ending of a call that was no probe. Returns true where this one opened the breaker. */
  ended(as: Seen, clock: Clock): boolean {
    if (as === 'answered' || as === 'failed') this.#isReached = true;
    if (as === undefined || !this.#isReached) return false;
    const failed = as !== 'answered';
    if (!failed) this.#answers++;
    if (as !== 'suspect') this.#failuresInARow = failed ? this.#failuresInARow + 1 : 0;
    this.#count(failed);
    if (!failed || this.isOpen || !this.#isFailing) return false;
    const now = clock.monotonic();
    this.#openedAt = now;
    this.#answeredProbes = 0;
    this.#probeEveryMs = FIRST_PROBE_MS;
    this.#nextProbeAt = now + FIRST_PROBE_MS;
    return true;
  }

  #count(failed: boolean): void {
    const place = this.#seen % HISTORY;
    if (this.#seen >= HISTORY) this.#failures -= this.#failed[place] ?? 0;
    this.#failed[place] = failed ? 1 : 0;
    this.#seen++;
    if (failed) this.#failures++;
  }

  get #isFailing(): boolean {
    if (this.#failuresInARow >= LEAST_FAILURES) return true;
    return this.#failures >= LEAST_FAILURES && this.#failures * 2 >= Math.min(this.#seen, HISTORY);
  }

  #close(): void {
    this.#openedAt = undefined;
    this.#seen = 0;
    this.#failures = 0;
    this.#failuresInARow = 0;
  }
}

/** How an account has been of late. */
export interface Health {
  /** True while it is tried by single calls, since it mostly fails. */
  readonly isFailing: boolean;
  /** How many calls it has answered. */
  readonly answers: number;
}

/** What the ending of a call says of its provider: nothing where it was put off, or ended on our side. */
export type Seen = 'answered' | 'failed' | 'unreached' | 'suspect' | undefined;

/** What an ending says of the provider. */
export function seenBy({ ending, isOurs, isSuspect }: PermitOutcome): Seen {
  if (isOurs === true) return undefined;
  if (ending === 'answered' || ending === 'rejected') return 'answered';
  if (ending !== 'notDispatched' && ending !== 'ambiguous') return undefined;
  if (isSuspect === true) return 'suspect';
  return ending === 'ambiguous' ? 'failed' : 'unreached';
}

const HISTORY = 50;
const LEAST_FAILURES = 10;
const FIRST_PROBE_MS = 1_000;
const LONGEST_PROBE_MS = 30_000;
const PROBES_TO_CLOSE = 3;
