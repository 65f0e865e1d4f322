import type { Chance } from '../scope/index.ts';
import { uniform } from './retry.ts';

/** From the first refusal until the account took a call again. */
export interface Episode {
  /** When the first call that was refused had gone out. */
  readonly refusedAt: number;
  /** How many were refused of those that went out before it closed. */
  readonly refused: number;
  /** How long it took, as far as we know: the provider's time, or half way between the last call that tried in vain and the one that was taken. */
  readonly waitMs: number;
  /** True where it is the provider's time, and that was enough. */
  readonly isNamed: boolean;
  /** True where all were refused since the provider had too much to do, whoever asked it. */
  readonly isOverload: boolean;
}

interface OpenEpisode {
  refusedAt: number;
  refused: number;
  readonly closedAt: number;
  /** When the last call went out that tried in vain. */
  triedAt: number;
  namedMs: number | undefined;
  isOverload: boolean;
}

/**
 * Whether an account takes calls at all after it has refused one.
 *
 * Owns: until when the account is closed, the episode of refusals that closed it, and the ramp after it.
 * Does not own: the tries of the calls that were refused (call/retry), the limits of the account (window, concurrency),
 * what an episode says about its rate (learnt-pace).
 *
 * Invariants
 *  1. While it is closed nothing goes out; a later refusal can only put the opening off, never bring it nearer.
 *  2. All refusals of what was dispatched before the gate closed are one episode, and so are those of the single calls that
 *     try it afterwards, until one is taken.
 *  3. After it opens one call goes out, and for every answer one more than before, until `FULL_RAMP` may be in flight or
 *     `endRamp` says that something else is gentle enough.
 *  4. It keeps to the time that the provider names. Where it names none, or a single call that came back then was refused
 *     too, the wait doubles with each such refusal; `FORGETTING` good answers in a row forget that.
 *  5. A closing that another process was told is one like its own, but that nothing was refused here: it teaches nothing.
 */
export class BackPressureGate {
  readonly #chance: Chance;
  #until = Number.NEGATIVE_INFINITY;
  /** What went out up to then belongs to the closing that is known already. */
  #closedAt = Number.NEGATIVE_INFINITY;
  #episode: OpenEpisode | undefined;
  #level = 0;
  #good = 0;
  #ramp = Number.POSITIVE_INFINITY;
  #rampPending = false;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** Monotonic instant of the opening; in the past, or -Infinity, where it is open. */
  get closedUntil(): number {
    return this.#until;
  }

  /** Since when every call was refused; undefined where the last one was taken. */
  get refusedSince(): number | undefined {
    return this.#episode?.closedAt;
  }

  /** True where a single call that came when it had opened was refused, too, and none has been taken since. */
  get isVain(): boolean {
    return this.#episode !== undefined && this.#episode.triedAt > this.#episode.closedAt;
  }

  /** How many may be in flight: Infinity once the ramp is over. */
  get ramp(): number {
    return this.#ramp;
  }

  /** True while neither closed nor ramping, which is the usual. */
  get idle(): boolean {
    return this.#ramp === Number.POSITIVE_INFINITY && !this.#rampPending && this.#level === 0;
  }

  /** @param said what the provider asked for, undefined where it said nothing, and whether it has too much to do */
  refused(
    dispatchedAt: number,
    now: number,
    said: { readonly waitMs: number | undefined; readonly isOverload: boolean },
  ): void {
    const { waitMs, isOverload } = said;
    const isKnown = dispatchedAt <= this.#closedAt;
    const isProbe = !isKnown && this.#episode !== undefined;
    if (!isKnown) {
      this.#closedAt = now;
      this.#level = isProbe ? this.#level + 1 : Math.max(1, this.#level);
    }
    this.#good = 0;
    this.#episode ??= { refusedAt: dispatchedAt, refused: 0, closedAt: now, triedAt: now, namedMs: waitMs, isOverload };
    const episode = this.#episode;
    episode.isOverload &&= isOverload;
    if (isProbe) {
      episode.namedMs = undefined;
      episode.triedAt = dispatchedAt;
    } else {
      episode.refused++;
      episode.refusedAt = Math.min(episode.refusedAt, dispatchedAt);
      if (waitMs !== undefined && episode.namedMs !== undefined) episode.namedMs = Math.max(episode.namedMs, waitMs);
    }
    if (isKnown && waitMs === undefined) return;
    const floor = isProbe || waitMs === undefined ? this.#backoff() : LEAST_MS;
    this.#until = Math.max(this.#until, now + Math.max(waitMs ?? 0, floor));
    this.#rampPending = true;
  }

  /** Another process was told so. What is out meanwhile belongs to that closing. */
  closedElsewhere(now: number, until: number): void {
    this.#closedAt = now;
    this.#until = Math.max(this.#until, until);
    this.#rampPending = true;
  }

  /** Returns the episode that ended with it, for the pace to learn from. */
  answered(dispatchedAt: number): Episode | undefined {
    if (dispatchedAt <= this.#closedAt) return undefined;
    const episode = this.#episode;
    this.#episode = undefined;
    if (++this.#good >= FORGETTING) this.#level = 0;
    if (this.#ramp !== Number.POSITIVE_INFINITY && ++this.#ramp >= FULL_RAMP) this.endRamp();
    if (episode === undefined) return undefined;
    const { refusedAt, refused, closedAt, triedAt, namedMs, isOverload } = episode;
    const waitMs = namedMs ?? (triedAt + dispatchedAt) / 2 - closedAt;
    return { refusedAt, refused, waitMs, isNamed: namedMs !== undefined, isOverload };
  }

  endRamp(): void {
    this.#ramp = Number.POSITIVE_INFINITY;
  }

  /** Starts the ramp once the time is over. */
  open(now: number, inFlight: number): void {
    if (!this.#rampPending || now < this.#until) return;
    this.#rampPending = false;
    this.#ramp = inFlight + 1;
  }

  #backoff(): number {
    const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(20, this.#level - 1));
    // Never zero: a refusal without a time must not become an immediate repeat.
    return Math.max(LEAST_MS, Math.round(ceiling * uniform(this.#chance)));
  }
}

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
const LEAST_MS = 100;
const FORGETTING = 8;
/** In flight at which the ramp is over; the account's own limits hold all the while. */
const FULL_RAMP = 64;
