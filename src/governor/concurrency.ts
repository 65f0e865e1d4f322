/**
 * How many requests of one provider account may be in flight at once.
 *
 * Owns: the limit. Does not own: the number in flight (account).
 *
 * Invariants
 *  1. A declared limit never changes.
 *  2. An undeclared one starts at 8 and grows by one for each full round of answers under load. Until the first refusal or
 *     rise of latency it doubles instead while it is what keeps a declared rate from being used: a rate that is declared is
 *     no flood; where none is, nobody has said what the provider takes. It is halved at most once for what was dispatched
 *     before the last halving: one bad moment counts once, however many requests were in flight.
 *  3. It is never below 1, and slow answers alone don't take it below 4.
 */
export interface ConcurrencyLimit {
  readonly limit: number;
  readonly adaptive: boolean;
  /** An answer came; `busy` where the limit was what held further calls back. */
  answered(dispatchedAt: number, latencyMs: number, busy: boolean): void;
  deferred(dispatchedAt: number, now: number): void;
}

const START = 8;
const LARGEST = 256;
const LEAST_FOR_SLOWNESS = 4;
const RECENT = 1 / 16;
const USUAL = 1 / 256;
/** Below this many milliseconds a rise is our own machine's or the network's, not the provider in trouble. */
const NOTABLE_RISE_MS = 100;
const MIN_SAMPLES = 32;

/** `rate`: the calls per second that are declared, for the shortest time. */
export function createConcurrency(declared: number | undefined, rate = 0): ConcurrencyLimit {
  return declared === undefined ? new AdaptiveConcurrency(rate) : new DeclaredConcurrency(declared);
}

class DeclaredConcurrency implements ConcurrencyLimit {
  readonly limit: number;
  readonly adaptive = false;

  constructor(limit: number) {
    this.limit = limit;
  }

  answered(): void {}
  deferred(): void {}
}

class AdaptiveConcurrency implements ConcurrencyLimit {
  readonly adaptive = true;
  readonly #rate: number;
  #limit = START;
  #isUntroubled = true;
  #roundAnswers = 0;
  #halvedAt = Number.NEGATIVE_INFINITY;
  #recentMs = 0;
  #usualMs = 0;
  #samples = 0;

  constructor(rate: number) {
    this.#rate = rate;
  }

  get limit(): number {
    return this.#limit;
  }

  answered(dispatchedAt: number, latencyMs: number, busy: boolean): void {
    this.#observe(latencyMs);
    if (this.#isSlow() && dispatchedAt > this.#halvedAt) {
      this.#isUntroubled = false;
      if (this.#limit > LEAST_FOR_SLOWNESS) this.#halve(dispatchedAt + latencyMs, LEAST_FOR_SLOWNESS);
      this.#forgetLatency();
      return;
    }
    if (!busy) return;
    this.#roundAnswers++;
    if (this.#roundAnswers < this.#limit && !this.#holdsRateBack) return;
    this.#roundAnswers = 0;
    this.#limit = Math.min(LARGEST, this.#limit + 1);
  }

  deferred(dispatchedAt: number, now: number): void {
    this.#isUntroubled = false;
    if (dispatchedAt > this.#halvedAt) this.#halve(now, 1);
  }

  /** So many in flight for so long make less than the rate. */
  get #holdsRateBack(): boolean {
    return this.#isUntroubled && this.#limit < (this.#rate * this.#recentMs) / 1_000;
  }

  #halve(now: number, least: number): void {
    this.#limit = Math.max(least, Math.floor(this.#limit / 2));
    this.#roundAnswers = 0;
    this.#halvedAt = now;
  }

  #observe(latencyMs: number): void {
    this.#samples++;
    // The first samples are a plain mean, so that a single odd first answer isn't taken for the usual.
    this.#recentMs += (latencyMs - this.#recentMs) * Math.max(RECENT, 1 / this.#samples);
    this.#usualMs += (latencyMs - this.#usualMs) * Math.max(USUAL, 1 / this.#samples);
  }

  #isSlow(): boolean {
    if (this.#samples < MIN_SAMPLES) return false;
    return this.#recentMs > this.#usualMs * 2 && this.#recentMs > this.#usualMs + NOTABLE_RISE_MS;
  }

  /** After a halving the new pace is measured afresh: a provider that stays slow is the new usual. */
  #forgetLatency(): void {
    this.#samples = 0;
  }
}
