import type { Episode } from './gate.ts';
import { MARGIN } from './window.ts';

/**
 * The rate that an account's refusals have shown, beside the limits that are declared for it, if any.
 *
 * Owns: the learnt rate, and when the last calls went out that the provider took.
 * Does not own: how long the account is closed after a refusal (gate), the declared limits (window).
 *
 * Invariants
 *  1. Before anything has been learnt nothing is held back; a single stray refusal teaches nothing, nor does an overload (503)
 *     that is the first episode in a quarter of an hour.
 *  2. What is learnt is a rate, and calls are spaced by it: that keeps sliding windows, fixed ones and buckets of any
 *     length alike.
 *  3. After a refusal the rate is at most 95% of the one that was refused (a quarter of it at the least), and comes near
 *     that one by a quarter of what is left with each clean span; past it only after a patience that doubles with each failure.
 *  4. It rises only on evidence: a span (the provider's window as far as we know it), and an answer's time, in which it was
 *     used and no refusal came. One that nobody needed for a quarter of an hour is forgotten.
 *  5. A few refusals among many calls that go on however slow the calls come aren't about the rate: it is forgotten, and the
 *     like of them teach nothing for a quarter of an hour.
 *  6. A provider that is closed for longer than `LONGEST_SPAN_MS` has a quota, not a rate: nothing is learnt from it.
 */
export class LearntPace {
  readonly #taken = new Instants();
  /** Calls per millisecond; undefined where nothing has been learnt. */
  #rate: number | undefined;
  #spanMs = LEAST_SPAN_MS;
  #latencyMs = 0;
  #spacedFrom = Number.NEGATIVE_INFINITY;
  #changedAt = 0;
  #sent = 0;
  #rateBefore = 0;
  #neededAt = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #openedAt = Number.NEGATIVE_INFINITY;
  /** The rate that was refused; Infinity while none is known. */
  #ceiling = Number.POSITIVE_INFINITY;
  #lastCeiling = 0;
  #failures = 0;
  /** Refusals in a row of which each came at a lower rate than the one before, and the rate of the first. */
  #falls = 0;
  #fellFrom = 0;
  /** Until then a few refusals among many calls teach nothing. */
  #deafUntil = Number.NEGATIVE_INFINITY;
  #step = LARGEST_STEP;

  get isActive(): boolean {
    return this.#rate !== undefined;
  }

  /** Calls per second; undefined where nothing has been learnt. */
  get allowedRate(): number | undefined {
    return this.#rate === undefined ? undefined : this.#rate * 1000;
  }

  nextAt(): number {
    return this.#rate === undefined ? Number.NEGATIVE_INFINITY : this.#spacedFrom + 1 / this.#rate;
  }

  reserve(now: number, waitingSince: number): void {
    if (this.#rate === undefined) return;
    const slot = Math.min(now, Math.max(waitingSince, this.#spacedFrom + 1 / this.#rate));
    this.#spacedFrom = Math.max(slot, now - LATE_TIMER_MS);
    this.#sent++;
    if (now - this.#changedAt >= this.#spanMs + this.#latencyMs) this.#afterSpan(now, this.#rate);
  }

  answered(dispatchedAt: number, latencyMs: number): void {
    this.#taken.add(dispatchedAt);
    this.#latencyMs += (latencyMs - this.#latencyMs) / 8;
  }

  /** The account was closed, and takes calls again as of `now`. */
  learn(episode: Episode, now: number): void {
    const openedBefore = this.#openedAt;
    this.#openedAt = this.#spacedFrom = now;
    if (episode.waitMs > LONGEST_SPAN_MS) return;
    const spanMs = Math.max(episode.waitMs, this.#rate === undefined ? LEAST_SPAN_MS : this.#spanMs);
    const taken = this.#taken.rate(episode.refusedAt - spanMs, episode.refusedAt);
    const sinceMs = now - this.#refusedAt;
    const isRepeated = sinceMs <= REPEATED_WITHIN_MS + spanMs;
    this.#refusedAt = now;
    if (episode.isOverload && sinceMs > QUIET_MS) return;
    const isFew = episode.refused <= Math.max(1, taken * spanMs * CLEAR_SHARE);
    if (isFew && this.#rate === undefined && (!isRepeated || now < this.#deafUntil)) return;
    // Where nothing at all was let through, the refusals say nothing about how much would be.
    if (taken === 0) return;
    this.#spanMs = spanMs;
    const isRecent = now - openedBefore <= spanMs * RECENT_SPANS;
    const average = isRecent ? this.#taken.rate(openedBefore, now) : taken;
    const estimate = Math.min(taken, Math.sqrt(taken * average)) / MARGIN;
    if (this.#rate === undefined) this.#begin(estimate, episode.isNamed, now);
    else {
      const wasBefore = episode.refusedAt < this.#changedAt;
      this.#correct(estimate, { refused: wasBefore ? Math.min(this.#rate, this.#rateBefore) : this.#rate, isFew }, now);
    }
  }

  #begin(estimate: number, isNamed: boolean, now: number): void {
    this.#ceiling = Number.POSITIVE_INFINITY;
    this.#lastCeiling = this.#failures = this.#falls = 0;
    this.#step = isNamed ? LEAST_STEP * 2 : LARGEST_STEP;
    this.#set(estimate, now);
  }

  #correct(estimate: number, { refused, isFew }: { refused: number; isFew: boolean }, now: number): void {
    const isFall = isFew && this.#falls > 0 && refused < this.#lastCeiling;
    this.#falls = isFall ? this.#falls + 1 : 1;
    if (!isFall) this.#fellFrom = refused;
    if (this.#falls >= VAIN_FALLS && refused * 2 < this.#fellFrom) {
      this.#rate = undefined;
      this.#deafUntil = now + QUIET_MS;
      return;
    }
    this.#ceiling = this.#lastCeiling = refused;
    // Many refusals mean another limit than before, of which nothing is known yet.
    this.#failures = isFew ? this.#failures + 1 : 1;
    this.#set(Math.max(refused / 4, Math.min(estimate, refused * 0.95)), now);
  }

  #set(rate: number, now: number): void {
    this.#rateBefore = this.#rate ?? rate;
    this.#rate = Math.max(LEAST_RATE, rate);
    this.#changedAt = this.#neededAt = now;
    this.#sent = 0;
  }

  #afterSpan(now: number, rate: number): void {
    const isUsed = this.#sent >= USED_SHARE * rate * (now - this.#changedAt);
    if (isUsed) this.#set(this.#risen(now, rate), now);
    else if (now - this.#neededAt > QUIET_MS) this.#rate = undefined;
    else {
      this.#changedAt = now;
      this.#sent = 0;
    }
  }

  #risen(now: number, rate: number): number {
    if (now - this.#refusedAt > this.#patienceMs() && this.#ceiling !== Number.POSITIVE_INFINITY) {
      this.#ceiling = Number.POSITIVE_INFINITY;
      this.#step = LEAST_STEP;
    }
    if (this.#ceiling !== Number.POSITIVE_INFINITY)
      return rate + Math.max(0, (this.#ceiling * BELOW_CEILING - rate) / 4);
    const risen = rate * (1 + this.#step);
    this.#step = Math.min(LARGEST_STEP, this.#step * 2);
    // The limit is another one than it was.
    if (risen > this.#lastCeiling * 1.2) this.#failures = Math.min(this.#failures, 1);
    return risen;
  }

  #patienceMs(): number {
    const first = FIRST_PATIENCE * this.#spanMs;
    return Math.max(first, Math.min(LONGEST_PATIENCE_MS, first * 2 ** Math.min(20, this.#failures)));
  }
}

/** The last instants at which something happened, and how often it did. */
class Instants {
  readonly #at: number[] = [];
  #count = 0;

  add(at: number): void {
    this.#at[this.#count % KEPT] = at;
    this.#count++;
  }

  /** How many a millisecond in (`after`, `until`]. Where older ones are no longer kept: since the oldest that is. */
  rate(after: number, until: number): number {
    const oldest = this.#count > KEPT ? (this.#at[this.#count % KEPT] ?? after) : after;
    const from = Math.max(after, oldest);
    if (from >= until) return 0;
    let count = 0;
    for (const at of this.#at) if (at > from && at <= until) count++;
    return count / (until - from);
  }
}

const KEPT = 4096;
const LEAST_SPAN_MS = 1_000;
const LONGEST_SPAN_MS = 120_000;
const REPEATED_WITHIN_MS = 30_000;
const QUIET_MS = 15 * 60_000;
const CLEAR_SHARE = 0.1;
const RECENT_SPANS = 10;
const USED_SHARE = 0.8;
const VAIN_FALLS = 6;
const LEAST_STEP = 0.02;
const LARGEST_STEP = 0.25;
const BELOW_CEILING = 0.97;
/** Spans. */
const FIRST_PATIENCE = 5;
const LONGEST_PATIENCE_MS = 5 * 60_000;
/** One call a minute. */
const LEAST_RATE = 1 / 60_000;
/** A timer that is late by less is made up for: calls are then as many as if it had not been. */
const LATE_TIMER_MS = 10;
