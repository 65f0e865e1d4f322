/**
 * One declared limit (`calls` in any `per`) of one provider account, in this process's memory.
 *
 * Owns: the last `calls` dispatch instants and the number of slots that are reserved but not yet dispatched.
 * Does not own: who gets a slot (lanes), what other processes use (shared-window).
 *
 * Invariants
 *  1. A slot is reserved before it is used; reserved + dispatched within `per` × 1.016 never exceeds `calls`.
 *  2. What is logged is the instant at which the slot was due, at most `slackOf(per)` (0.1%) before the real one, which is when
 *     the request has been sent, should the process be held up before: any `calls` + 1 requests in a row span at least
 *     `per` × 1.015.
 *  3. Logged instants never go backwards.
 *  4. Requests do not go out at once, but a quarter of `per` / `calls` apart (5 ms at most; not where `per` is over 10 s, or
 *     that would be under a millisecond): else the last of a burst is late each time by what the whole burst takes, here and at
 *     the provider, and they stay a burst for ever.
 *  5. The first `calls` requests make their connections and meet a provider that has only just begun to work, so they may
 *     arrive later than they went out by more than the margin: each counts from when as many answers had come, and until
 *     then as a quarter of `per` late, which is also the most that it is put off by.
 */
export interface PaceWindow {
  readonly perMs: number;
  /** Calls per second that the window lets through. */
  readonly allowedRate: number;
  /** When one more may be reserved; Infinity where only the dispatch or release of a reserved slot can tell. */
  nextAt(now: number): number;
  /** Takes a slot that `nextAt` has shown to be free. Returns the instant at which it became usable. */
  reserve(now: number, waitingSince: number): number;
  dispatched(slot: number, now: number): void;
  /** What was dispatched in this turn has been sent, and may have been only now. */
  sent(now: number): void;
  release(slot: number): void;
  /** Nobody waits: what was taken for those who did is not wanted. */
  unwanted(): void;
  /** A request has been answered, so as many as were answered by now have arrived. */
  arrived(now: number): void;
}

/** What a window may know of, and tell, the calls that wait for it. */
export interface WindowQueue {
  /** How many of those who wait could go in the next `ms` if every window let them. */
  readonly ready: (ms: number) => number;
  /** A window that said Infinity may have changed by itself. */
  readonly wake: () => void;
  /** Nobody can be served: refuses everyone who waits with this error. */
  readonly failed: (error: unknown) => void;
}

export interface WindowLimit {
  readonly calls: number;
  readonly perMs: number;
  readonly smooth: boolean;
}

/** For what happens to a request between us and the provider's counter, and so that 98% are left where a process dies. */
export const MARGIN = 1.016;

/** Lateness of a dispatch, in milliseconds, that is not worth telling other processes. */
export function slackOf(perMs: number): number {
  return perMs * 0.001;
}

/** No connection takes longer, however long the window is. */
const LATEST_MS = 10_000;

/** How late the first requests of a window may arrive, which make their connections first (ms). */
export function latenessOf(perMs: number): number {
  return Math.min(perMs / 4, LATEST_MS);
}

const LONGEST_GAP_MS = 5;
const LONGEST_GAPPED_MS = 10_000;

/** How far apart the requests of a window that is not smooth go out at least (ms). */
function gapOf({ calls, perMs }: WindowLimit): number {
  const gap = Math.min(perMs / calls / 4, LONGEST_GAP_MS);
  return gap < 1 || perMs > LONGEST_GAPPED_MS ? 0 : gap;
}

export class LocalWindow implements PaceWindow {
  readonly perMs: number;
  readonly #calls: number;
  readonly #isSmooth: boolean;
  readonly #spacing: number;
  readonly #slack: number;
  readonly #log: number[] = [];
  #dispatched = 0;
  /** Of these, the last ones that may have been sent later. */
  #unsent = 0;
  /** Of the first `calls` requests, how many are known to have arrived. */
  #arrived = 0;
  #reserved = 0;
  #lastLogged = Number.NEGATIVE_INFINITY;
  #spacedFrom = Number.NEGATIVE_INFINITY;

  constructor(limit: WindowLimit) {
    this.perMs = limit.perMs;
    this.#calls = limit.calls;
    this.#slack = slackOf(limit.perMs);
    this.#isSmooth = limit.smooth;
    this.#spacing = limit.smooth ? (limit.perMs / limit.calls) * MARGIN : gapOf(limit);
  }

  get allowedRate(): number {
    return (this.#calls * 1000) / this.perMs;
  }

  nextAt(): number {
    return Math.max(this.#freeAt(), this.#spacedAt());
  }

  reserve(now: number, waitingSince: number): number {
    const slot = Math.min(now, Math.max(waitingSince, this.#freeAt(), this.#spacedAt()));
    // A late timer is made up for by at most one interval: spacing must not turn into bursts.
    this.#spacedFrom = Math.max(slot, now - this.#spacing);
    this.#reserved++;
    return slot;
  }

  dispatched(slot: number, now: number): void {
    const instant = Math.max(slot, now - this.#slack, this.#lastLogged);
    this.#lastLogged = instant;
    if (this.#log.length < this.#calls) this.#log.push(instant);
    else this.#log[this.#dispatched % this.#calls] = instant;
    this.#dispatched++;
    this.#unsent++;
    this.#reserved--;
  }

  sent(now: number): void {
    const from = this.#dispatched - Math.min(this.#unsent, this.#calls);
    this.#unsent = 0;
    for (let call = from; call < this.#dispatched; call++) {
      const instant = Math.max(this.#log[call % this.#calls] ?? now, now - this.#slack);
      this.#log[call % this.#calls] = instant;
      this.#lastLogged = Math.max(this.#lastLogged, instant);
    }
  }

  release(): void {
    this.#reserved--;
  }

  unwanted(): void {}

  arrived(now: number): void {
    const at = this.#arrived;
    if (this.#isSmooth || at >= this.#calls || at >= this.#dispatched) return;
    this.#arrived++;
    const logged = this.#log[at] ?? now;
    this.#log[at] = Math.max(logged, Math.min(now, logged + latenessOf(this.perMs)));
    this.#lastLogged = Math.max(this.#lastLogged, this.#log[at] ?? now);
  }

  /** The slot after those reserved is free once the call that went `calls` before it has left the window. */
  #freeAt(): number {
    if (this.#reserved >= this.#calls) return Number.POSITIVE_INFINITY;
    const before = this.#dispatched + this.#reserved - this.#calls;
    if (before < 0) return Number.NEGATIVE_INFINITY;
    // Calls that are spaced make no burst.
    const isCold = !this.#isSmooth && before < this.#calls && before >= this.#arrived;
    const late = isCold ? latenessOf(this.perMs) : 0;
    return (this.#log[before % this.#calls] ?? Number.NEGATIVE_INFINITY) + late + this.perMs * MARGIN;
  }

  #spacedAt(): number {
    return this.#spacing === 0 ? Number.NEGATIVE_INFINITY : this.#spacedFrom + this.#spacing;
  }
}
