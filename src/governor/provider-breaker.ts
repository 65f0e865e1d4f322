import type { Clock } from '../scope/index.ts';
import type { ProviderTransientError } from '../sdk/index.ts';
import type { PermitOutcome, PermitRequest } from './permit.ts';
import type { Reach } from './reach.ts';
import { asideOf, type LongWait, unavailable } from './refusals.ts';

/** How an account has been of late. */
export interface Health {
  /** True while it is tried by single calls, since it mostly fails. */
  readonly isFailing: boolean;
  /** How many calls it has answered. */
  readonly answers: number;
  /** How many calls have failed in a row, however often each. */
  readonly failedCalls: number;
  /** Whether it has ever answered anybody on the workspace. */
  readonly hasWorked: boolean;
}

/** What the ending of a call says of its provider: nothing where it was put off, or ended on our side. */
type Seen = 'answered' | 'failed' | 'unreached' | 'suspect' | undefined;

/** What an ending says of the provider. */
function seenBy({ ending, isOurs, repeats }: PermitOutcome): Seen {
  if (isOurs === true) return undefined;
  if (ending === 'answered' || ending === 'rejected') return 'answered';
  if (ending !== 'notDispatched' && ending !== 'ambiguous') return undefined;
  if (repeats === 'suspect') return 'suspect';
  return ending === 'ambiguous' ? 'failed' : 'unreached';
}

const HISTORY = 50;
const LEAST_FAILURES = 10;
const FIRST_PROBE_MS = 1_000;
const LONGEST_PROBE_MS = 10_000;
/** Between calls that have not failed yet. */
const DOUBTFUL_PROBE_MS = 2_000;
const PROBES_TO_CLOSE = 3;
/** So long an outage may be none: what is tried again may fail by its own fault, and keep others from being tried at all. */
const DOUBTED_AFTER_MS = 30_000;
/** What has never answered anybody may never do: whoever tries it out wants to know soon. */
const UNPROVED_WAIT_MS = 30_000;

/**
 * Keeps calls away from an account that mostly fails: 5xx, time-outs, resets (everything that ends `ambiguous`), and connections
 * that cannot be made any more.
 *
 * Owns: the share of failures among the last endings, and the probes while it is open.
 *
 * Invariants
 *  1. It opens when ten calls in a row, or half of the last fifty and ten calls among them, were failures. The answer to what
 *     went out before a row of failures began does not end it, as long as half of what went out since has failed: answers may
 *     be slow.
 *  2. An account that has never answered anybody is no failing one where it cannot be reached: its address may be wrong.
 *  3. What failed before others were answered, and fails again, counts for the half alone, not for the ten, and as a probe it says
 *     nothing: calls that fail by their own fault are what is left of a run.
 *  4. While it is open at most one probe is out: the first 1 s after it opened, the next at once after one that was answered,
 *     and after one that failed when twice as much time has passed as before, up to 10 s, beginning anew with each answer.
 *  5. Three probes answered in a row close it; the history starts afresh.
 *  6. Once no probe was answered for 30 s, or a fifth of the longest wait, each one that fails has those step aside that have failed
 *     before, so that others are tried, every 2 s.
 *  7. Meanwhile who can ask another provider is refused at once, and the others once none was answered for `maxWaitMs`, or for
 *     30 s where nobody ever was.
 */
export class ProviderBreaker {
  readonly #maxWaitMs: number;
  readonly #reach: Reach;
  /** The last endings: each 0, or 1 for a failure, or 2 for a suspect one; and how many there are of each. */
  readonly #last = new Uint8Array(HISTORY);
  readonly #counts = [0, 0, 0];
  #seen = 0;
  #granted = 0;
  /** Failures in a row, of how many calls, and the place of the first among all that went out. */
  readonly #inARow = { failures: 0, calls: 0, since: 0 };
  #answers = 0;
  /** While open: when it opened, or when the last probe was answered. */
  #silentSince: number | undefined;
  #probing = false;
  #nextWaitMs = FIRST_PROBE_MS;
  #nextProbeAt = 0;
  #answeredProbes = 0;

  /** @param maxWaitMs how long a call waits that nobody else can answer */
  constructor(maxWaitMs: number, reach: Reach) {
    this.#maxWaitMs = maxWaitMs;
    this.#reach = reach;
  }

  get health(): Health {
    const { calls: failedCalls } = this.#inARow;
    return { isFailing: this.isOpen, answers: this.#answers, failedCalls, hasWorked: this.#reach.isReached };
  }

  get isOpen(): boolean {
    return this.#silentSince !== undefined;
  }

  /** Whether it has been open, and no probe was answered, for longer than anybody waits. */
  isLong(now: number): boolean {
    return this.#silentMs(now) > this.#mostMs;
  }

  /** What a call steps aside with that has failed before, once who fails may do so by its own fault; undefined where it waits on. */
  asideOf(request: PermitRequest, clock: Clock): LongWait | undefined {
    return this.#isDoubtful(clock.monotonic()) ? asideOf(request, clock.now()) : undefined;
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
    if (!this.isOpen) return 0;
    return this.#probing ? Number.POSITIVE_INFINITY : this.#nextProbeAt;
  }

  /** A call may go out: its place among them. */
  granted(): number {
    return ++this.#granted;
  }

  /** While open: true takes the probe that is due. */
  takeProbe(now: number): boolean {
    if (this.#probing || now < this.#nextProbeAt) return false;
    this.#probing = true;
    return true;
  }

  /** Ends a probe; undefined where it never went out. */
  probed(outcome: PermitOutcome | undefined, now: number): void {
    const as = outcome === undefined ? undefined : seenBy(outcome);
    this.#probing = false;
    if (as === 'failed' || as === 'unreached') {
      this.#answeredProbes = 0;
      this.#addToRow(outcome, this.#granted);
      this.#waitForProbe(now);
      return;
    }
    this.#nextProbeAt = now;
    if (as !== 'answered') return;
    this.#endRow();
    this.#reach.reached();
    this.#answers++;
    this.#silentSince = now;
    this.#nextWaitMs = FIRST_PROBE_MS;
    if (++this.#answeredProbes >= PROBES_TO_CLOSE) this.#close();
  }

  /** Counts the ending of a call that was no probe. Returns true where this one opened the breaker. */
  ended(outcome: PermitOutcome, order: number, clock: Clock): boolean {
    const as = seenBy(outcome);
    if (as === undefined) return false;
    if (as === 'answered') {
      this.#reach.reached();
      this.#answers++;
      this.#count(0);
      if (order >= this.#inARow.since) this.#endRow();
      return false;
    }
    this.#reach.missed();
    if (as === 'unreached' && !this.#reach.isReached) return false;
    this.#count(as === 'suspect' ? 2 : 1);
    if (as !== 'suspect') this.#addToRow(outcome, order);
    if (this.isOpen || !this.#isFailing) return false;
    this.#open(clock.monotonic());
    return true;
  }

  #isDoubtful(now: number): boolean {
    return this.#silentMs(now) >= Math.min(DOUBTED_AFTER_MS, this.#mostMs / 5);
  }

  #silentMs(now: number): number {
    return this.#silentSince === undefined ? 0 : now - this.#silentSince;
  }

  get #mostMs(): number {
    return this.#reach.isReached ? this.#maxWaitMs : Math.min(this.#maxWaitMs, UNPROVED_WAIT_MS);
  }

  #addToRow(outcome: PermitOutcome | undefined, order: number): void {
    if (this.#inARow.failures === 0) this.#inARow.since = order;
    this.#inARow.failures++;
    if (outcome?.repeats === undefined) this.#inARow.calls++;
  }

  #endRow(): void {
    this.#inARow.failures = 0;
    this.#inARow.calls = 0;
  }

  #count(as: 0 | 1 | 2): void {
    const place = this.#seen % HISTORY;
    const [was, counts] = [this.#last[place] ?? 0, this.#counts];
    if (this.#seen >= HISTORY) counts[was] = (counts[was] ?? 0) - 1;
    this.#last[place] = as;
    counts[as] = (counts[as] ?? 0) + 1;
    this.#seen++;
  }

  get #isFailing(): boolean {
    const { failures, since } = this.#inARow;
    if (failures >= LEAST_FAILURES && failures * 2 >= this.#granted - since) return true;
    const [, failed = 0, suspect = 0] = this.#counts;
    return failed >= LEAST_FAILURES && (failed + suspect) * 2 >= Math.min(this.#seen, HISTORY);
  }

  #open(now: number): void {
    this.#silentSince = now;
    this.#answeredProbes = 0;
    this.#nextWaitMs = FIRST_PROBE_MS;
    this.#waitForProbe(now);
  }

  #waitForProbe(now: number): void {
    this.#nextProbeAt = now + (this.#isDoubtful(now) ? DOUBTFUL_PROBE_MS : this.#nextWaitMs);
    this.#nextWaitMs = Math.min(LONGEST_PROBE_MS, this.#nextWaitMs * 2);
  }

  #close(): void {
    this.#silentSince = undefined;
    this.#seen = 0;
    this.#counts.fill(0);
    this.#endRow();
  }
}
