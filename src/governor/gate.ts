import type { Chance } from '../scope/index.ts';
import { uniform } from './retry.ts';

/**
 * Whether an account takes calls at all after it has refused one.
 *
 * Owns: until when the account is closed, the episode of refusals that closed it, and the ramp after it.
 * Does not own: the tries of the calls that were refused (call/retry), the limits of the account (window, concurrency).
 *
 * Invariants
 *  1. While it is closed nothing goes out; a later refusal can only put the opening off, never bring it nearer.
 *  2. All refusals of what was dispatched before the gate closed are one episode.
 *  3. After it opens one call goes out, and for every answer one more than before, until `FULL_RAMP` may be in flight.
 *  4. Where the provider names no time, or its time proves too short again and again, the wait doubles with each episode.
 */
export class BackPressureGate {
  readonly #chance: Chance;
  #until = Number.NEGATIVE_INFINITY;
  #closedAt = Number.NEGATIVE_INFINITY;
  #refused = 0;
  #level = 0;
  #ramp = Number.POSITIVE_INFINITY;
  #rampPending = false;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** Monotonic instant of the opening; in the past, or -Infinity, where it is open. */
  get closedUntil(): number {
    return this.#until;
  }

  /** How many may be in flight: Infinity once the ramp is over. */
  get ramp(): number {
    return this.#ramp;
  }

  /** True while neither closed nor ramping, which is the usual. */
  get idle(): boolean {
    return this.#ramp === Number.POSITIVE_INFINITY && !this.#rampPending;
  }

  /** @param waitMs what the provider asked for; undefined where it said nothing */
  refused(dispatchedAt: number, now: number, waitMs: number | undefined): void {
    const sameEpisode = dispatchedAt <= this.#closedAt;
    if (!sameEpisode) {
      this.#closedAt = now;
      this.#refused = 0;
      this.#level++;
    }
    this.#refused++;
    if (sameEpisode && waitMs === undefined) return;
    const floor = this.#level > 1 || waitMs === undefined ? this.#backoff() : LEAST_MS;
    this.#until = Math.max(this.#until, now + Math.max(waitMs ?? 0, floor));
    this.#rampPending = true;
  }

  answered(dispatchedAt: number): void {
    if (this.#ramp === Number.POSITIVE_INFINITY || dispatchedAt <= this.#closedAt) return;
    this.#ramp++;
    if (this.#ramp < FULL_RAMP) return;
    this.#ramp = Number.POSITIVE_INFINITY;
    this.#level = 0;
  }

  /** Starts the ramp once the time is over. Returns the episode that ended, for the windows to learn from. */
  open(now: number, inFlight: number): { readonly closedAt: number; readonly refused: number } | undefined {
    if (!this.#rampPending || now < this.#until) return undefined;
    this.#rampPending = false;
    this.#ramp = inFlight + 1;
    return { closedAt: this.#closedAt, refused: this.#refused };
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
/** In flight at which the ramp is over; the account's own limits hold all the while. */
const FULL_RAMP = 64;
