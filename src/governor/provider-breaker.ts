/**
 * Keeps calls away from an account that mostly fails (5xx, time-outs, resets: everything that ends `ambiguous`).
 *
 * Owns: the share of failures among the last endings, and the probes while it is open.
 *
 * Invariants
 *  1. It opens when at least ten of the last fifty endings, and half of them, were failures.
 *  2. While it is open at most one probe is out, and probes start at least `probeEveryMs` apart: 1 s at first, doubled by
 *     every failed probe up to 30 s.
 *  3. Three probes answered in a row close it; the history starts afresh.
 */
export class ProviderBreaker {
  readonly #failed = new Uint8Array(HISTORY);
  #seen = 0;
  #failures = 0;
  #isOpen = false;
  #probing = false;
  #probeEveryMs = FIRST_PROBE_MS;
  #nextProbeAt = 0;
  #answeredProbes = 0;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** When the next probe may start, on the monotonic clock; meaningful only while open. */
  get nextProbeAt(): number {
    return this.#nextProbeAt;
  }

  /** While open: true takes the probe that is due. */
  takeProbe(now: number): boolean {
    if (this.#probing || now < this.#nextProbeAt) return false;
    this.#probing = true;
    return true;
  }

  /** Ends a probe; `undefined` where it says nothing (it never went out, or was deferred). */
  probed(answered: boolean | undefined, now: number): void {
    this.#probing = false;
    if (answered === undefined) {
      this.#nextProbeAt = now;
    } else if (answered) {
      this.#nextProbeAt = now;
      this.#answeredProbes++;
      if (this.#answeredProbes >= PROBES_TO_CLOSE) this.#close();
    } else {
      this.#answeredProbes = 0;
      this.#probeEveryMs = Math.min(LONGEST_PROBE_MS, this.#probeEveryMs * 2);
      this.#nextProbeAt = now + this.#probeEveryMs;
    }
  }

  /** Counts the ending of a call that was not a probe. Returns true where this one opened the breaker. */
  ended(failed: boolean, now: number): boolean {
    const place = this.#seen % HISTORY;
    if (this.#seen >= HISTORY) this.#failures -= this.#failed[place] ?? 0;
    this.#failed[place] = failed ? 1 : 0;
    this.#seen++;
    if (!failed) return false;
    this.#failures++;
    const sample = Math.min(this.#seen, HISTORY);
    if (this.#isOpen || this.#failures < LEAST_FAILURES || this.#failures * 2 < sample) return false;
    this.#isOpen = true;
    this.#answeredProbes = 0;
    this.#probeEveryMs = FIRST_PROBE_MS;
    this.#nextProbeAt = now + FIRST_PROBE_MS;
    return true;
  }

  #close(): void {
    this.#isOpen = false;
    this.#seen = 0;
    this.#failures = 0;
  }
}

const HISTORY = 50;
const LEAST_FAILURES = 10;
const FIRST_PROBE_MS = 1_000;
const LONGEST_PROBE_MS = 30_000;
const PROBES_TO_CLOSE = 3;
