import type { Chance, Clock } from '../scope/index.ts';
import { type ConcurrencyLimit, createConcurrency } from './concurrency.ts';
import { BackPressureGate } from './gate.ts';
import { providerWait } from './headers.ts';
import { LearntPace } from './learnt-pace.ts';
import { Meter } from './meter.ts';
import { type GrantedPermit, NO_SLOTS, type PermitOutcome, type PermitRequest } from './permit.ts';
import type { SharedConcurrency } from './shared-concurrency.ts';
import type { SharedGate } from './shared-gate.ts';
import type { WaitReason } from './waiter.ts';
import type { PaceWindow } from './window.ts';

export interface AllowanceParts {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly windows: readonly PaceWindow[];
  readonly concurrency: number | undefined;
  /** What this process holds of a declared concurrency; undefined where it has all of it. */
  readonly places: SharedConcurrency | undefined;
  /** What other processes know of the gate; undefined where there are none. */
  readonly sharedGate: SharedGate | undefined;
}

/**
 * What of an account applies to a call: all, or not a concurrency that nobody declared ('unlimited': a function tool where no
 * limit is), or only what this process knows by itself ('free': where it costs nothing besides, and so has no part in `rates.db`).
 */
export type Demand = 'limited' | 'unlimited' | 'free';

/**
 * Whether one more call of an account may go out now, as far as its limits and the provider's answers say.
 *
 * Owns: windows, learnt pace, concurrency and its places, gate, the number in flight, what was used.
 * Does not own: who goes next, credits, failures.
 *
 * Invariants
 *  1. Between `reserve` and the permit's end the call counts as in flight and holds a slot of every window.
 *  2. `blockedUntil` takes nothing: only `reserve` does, and only what `blockedUntil` has shown to be free in this turn.
 */
export class Allowance {
  readonly concurrency: ConcurrencyLimit;
  readonly #clock: Clock;
  readonly #windows: readonly PaceWindow[];
  readonly #places: SharedConcurrency | undefined;
  readonly #gate: BackPressureGate;
  readonly #sharedGate: SharedGate | undefined;
  readonly #pace = new LearntPace();
  readonly #meter = new Meter();
  #inFlight = 0;
  #deferred = 0;
  #reason: WaitReason = 'turn';
  #isSending = false;

  constructor(parts: AllowanceParts) {
    this.#clock = parts.clock;
    this.#windows = parts.windows;
    this.#places = parts.places;
    this.concurrency = createConcurrency(parts.concurrency, parts.windows[0]?.allowedRate);
    this.#gate = new BackPressureGate(parts.chance);
    this.#sharedGate = parts.sharedGate;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** How many more the concurrency lets through at present. */
  get room(): number {
    return Math.min(this.concurrency.limit, this.#places?.usable ?? Number.POSITIVE_INFINITY) - this.#inFlight;
  }

  get deferred(): number {
    return this.#deferred;
  }

  /** What `blockedUntil` has last found to be in the way. */
  get reason(): WaitReason {
    return this.#reason;
  }

  demandOf({ unlimited, maxCredits }: PermitRequest): Demand {
    const isUndeclared = this.#windows.length === 0 && this.concurrency.adaptive;
    if (unlimited !== true || !isUndeclared) return 'limited';
    return maxCredits === 0 ? 'free' : 'unlimited';
  }

  /** True while the provider doesn't hold us back: neither closed nor ramping, nor at a learnt pace. */
  get isGateIdle(): boolean {
    return this.#gate.idle && !this.#pace.isActive;
  }

  /** How many of those who wait the learnt pace lets go in the next `ms`: at least one. */
  paceRoom(ms: number): number {
    const { allowedRate } = this.#pace;
    return allowedRate === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.ceil((allowedRate * ms) / 1000));
  }

  /** True where the time plays no part at present. */
  isTimeless(demand: Demand): boolean {
    const isAlone = demand === 'free' || this.#sharedGate === undefined;
    return isAlone && this.#windows.length === 0 && this.isGateIdle;
  }

  /** Monotonic instant; in the past where the gate is open. */
  get gateClosedUntil(): number {
    return this.#gate.closedUntil;
  }

  /** True while the account is closed, and was tried in vain since it refused a call. */
  isClosedInVain(now: number): boolean {
    return this.#gate.isVain && now < this.#gate.closedUntil;
  }

  /** For how long every call has been refused (ms). */
  refusedMs(now: number): number {
    return now - (this.#gate.refusedSince ?? now);
  }

  /** Calls per second that windows and learnt pace let through; undefined where there are neither. */
  get allowedRate(): number | undefined {
    const learnt = this.#pace.allowedRate;
    if (this.#windows.length === 0) return learnt;
    return this.#windows.reduce(
      (least, window) => Math.min(least, window.allowedRate),
      learnt ?? Number.POSITIVE_INFINITY,
    );
  }

  usedRate(now: number): number {
    return this.#meter.rate(now);
  }

  /** At most `now` where one more call may go out; Infinity where only an ending, a release or a dispatch can tell. */
  blockedUntil(now: number, demand: Demand): number {
    if (demand !== 'free' && this.#sharedGate !== undefined) {
      const until = this.#sharedGate.closedUntil(now);
      if (until === Number.POSITIVE_INFINITY) return this.#blocked('turn', until);
      if (until > now && until > this.#gate.closedUntil) this.#gate.closedElsewhere(now, until);
    }
    if (!this.#gate.idle) {
      this.#gate.open(now, this.#inFlight);
      if (now < this.#gate.closedUntil) return this.#blocked('gate', this.#gate.closedUntil);
      if (this.#inFlight >= this.#gate.ramp) return this.#blocked('gate', Number.POSITIVE_INFINITY);
    }
    // Before the windows: a slot of a shared one is used up by asking for it.
    if (demand === 'limited' && this.room <= 0) {
      const at = this.#places?.nextAt() ?? Number.POSITIVE_INFINITY;
      if (at > now) return this.#blocked('concurrency', at);
    }
    const paced = this.#pace.nextAt();
    if (paced > now) return this.#blocked('pace', paced);
    // The longest first: where a day's quota is used up, no slot of the second is asked for.
    for (let index = this.#windows.length - 1; index >= 0; index--) {
      const at = this.#windows[index]?.nextAt(now) ?? now;
      if (at > now) return this.#blocked('pace', at);
    }
    return Number.NEGATIVE_INFINITY;
  }

  /** Counts one more in flight and takes a slot of every window, in their order. */
  reserve(now: number, waitingSince: number): readonly number[] {
    this.#inFlight++;
    this.#places?.used();
    this.#pace.reserve(now, waitingSince);
    if (this.#windows.length === 0) return NO_SLOTS;
    return this.#windows.map((window) => window.reserve(now, waitingSince));
  }

  dispatched(permit: GrantedPermit): void {
    const now = this.#clock.monotonic();
    permit.dispatchedAt = now;
    this.#meter.count(now);
    for (let index = 0; index < permit.slots.length; index++)
      this.#windows[index]?.dispatched(permit.slots[index] ?? now, now);
    if (this.#windows.length > 0) this.#watchSending();
  }

  /** The transport sends in the turn in which it says so. A process that is held up in between sends later than it says. */
  #watchSending(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    queueMicrotask(() => {
      this.#isSending = false;
      const now = this.#clock.monotonic();
      for (const window of this.#windows) window.sent(now);
    });
  }

  /** Nobody waits. */
  unwanted(): void {
    for (const window of this.#windows) window.unwanted();
  }

  released(permit: GrantedPermit): void {
    this.#inFlight--;
    this.#places?.freed();
    for (let index = 0; index < permit.slots.length; index++) this.#windows[index]?.release(permit.slots[index] ?? 0);
  }

  ended(permit: GrantedPermit, outcome: PermitOutcome): void {
    const wasFull = this.#inFlight >= this.concurrency.limit;
    this.#inFlight--;
    this.#places?.freed(outcome.latencyMs);
    if (this.#windows.length > 0) {
      const now = this.#clock.monotonic();
      for (const window of this.#windows) window.arrived(now);
    }
    if (outcome.ending === 'deferred') this.#closeGate(permit.dispatchedAt, outcome, wasFull);
    else if (outcome.ending === 'answered' || outcome.ending === 'rejected') {
      this.#pace.answered(permit.dispatchedAt, outcome.latencyMs);
      if (!this.#gate.idle) this.#taken(permit.dispatchedAt);
      this.concurrency.answered(permit.dispatchedAt, outcome.latencyMs, wasFull);
    }
  }

  /** A call was taken although the provider holds us back. */
  #taken(dispatchedAt: number): void {
    const episode = this.#gate.answered(dispatchedAt);
    if (episode === undefined) return;
    this.#pace.learn(episode, this.#clock.monotonic());
    if (this.#pace.isActive) this.#gate.endRamp();
  }

  #closeGate(dispatchedAt: number, outcome: PermitOutcome, wasFull: boolean): void {
    const now = this.#clock.monotonic();
    const { retryAfterMs, headers, isOverload = false } = outcome;
    this.#deferred++;
    const wait = retryAfterMs ?? (headers === undefined ? undefined : providerWait(headers, this.#clock.now()));
    this.#gate.refused(dispatchedAt, now, { waitMs: wait, isOverload });
    if (wait !== undefined) this.#sharedGate?.closed(wait);
    // What a learnt pace let out too fast says nothing about how many may be in flight.
    if (wasFull || !this.#pace.isActive) this.concurrency.deferred(dispatchedAt, now);
  }

  #blocked(reason: WaitReason, until: number): number {
    this.#reason = reason;
    return until;
  }
}
