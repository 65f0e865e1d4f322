import { type Chance, type Clock, creditsOf, microCredits } from '../scope/index.ts';
import type { ProviderAccount } from '../tool/index.ts';
import { Allowance } from './allowance.ts';
import { Lanes } from './lanes.ts';
import {
  type ChargedPart,
  GrantedPermit,
  type Permit,
  type PermitHolder,
  type PermitOutcome,
  type PermitRequest,
} from './permit.ts';
import { type Health, ProviderBreaker } from './provider-breaker.ts';
import type { Reach } from './reach.ts';
import { exhausted, LongWait } from './refusals.ts';
import type { PlaceQueue, SharedConcurrency } from './shared-concurrency.ts';
import type { SharedGate } from './shared-gate.ts';
import { type AccountSnapshot, type RunWait, runWait } from './snapshot.ts';
import type { Lane, Waiter } from './waiter.ts';
import { WakeUp } from './wake-up.ts';
import type { PaceWindow, WindowLimit, WindowQueue } from './window.ts';

export interface AccountParts {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly providerMaxWaitMs: number;
  readonly reach: Reach;
  readonly declared: readonly WindowLimit[];
  /** One for each of those that are declared. */
  readonly windows: (queue: WindowQueue) => readonly PaceWindow[];
  /** Undefined where no other process knows the account. */
  readonly gate: (wake: () => void) => SharedGate | undefined;
  /** Undefined where no other process uses the declared concurrency. */
  readonly places: (queue: PlaceQueue) => SharedConcurrency | undefined;
}

/**
 * Decides for one provider account which call may go out now.
 *
 * Owns: the allowance, breaker, queue and wake-up of the account.
 * Does not own: budgets (they span accounts), the persistence breaker (governor), retries (call).
 *
 * Invariants
 *  1. A permit is given only while gate, ramp, concurrency and every window allow it and its credits are reserved; all of
 *     these are taken in the same turn.
 *  2. Whoever comes while others wait goes behind them (lanes); only a function tool on an account without declared
 *     limits that has refused nothing has nothing to wait for and passes.
 *  3. Every waiter ends in exactly one of: a permit, a refusal, its signal's abort. Whatever can make room (an ending, a
 *     release, a dispatch, the timer, the budget) ends in `#pump`.
 *  4. A wait that is known to be longer than a waiter may be put off refuses it at once, and so does a provider that has
 *     refused every call for as long as that.
 */
export class AccountGovernor implements PermitHolder {
  readonly account: ProviderAccount;
  readonly #clock: Clock;
  readonly #maxWaitMs: number;
  readonly #declared: readonly WindowLimit[];
  readonly #allowance: Allowance;
  readonly #breaker: ProviderBreaker;
  readonly #wakeUp: WakeUp;
  readonly #lanes = new Lanes();
  #leastWaitMs: number;
  #microCredits = 0;
  #pumping = false;
  #limitsConcurrency: boolean;

  constructor(account: ProviderAccount, parts: AccountParts) {
    this.account = account;
    this.#clock = parts.clock;
    this.#maxWaitMs = parts.providerMaxWaitMs;
    this.#declared = parts.declared;
    this.#leastWaitMs = parts.providerMaxWaitMs;
    this.#breaker = new ProviderBreaker(parts.providerMaxWaitMs, parts.reach);
    this.#wakeUp = new WakeUp(parts.clock, () => this.#pump());
    const waiters = { wake: () => this.#pump(), failed: (error: unknown) => this.refuseAll(() => error) };
    const windows = parts.windows({
      ready: (ms) => Math.min(this.#lanes.size, this.#allowance.room, this.#allowance.paceRoom(ms)),
      ...waiters,
    });
    const calls = { inFlight: () => this.#allowance.inFlight, waiting: () => this.#lanes.size };
    const places = parts.places({ ...calls, ...waiters });
    this.#limitsConcurrency = account.limits.concurrency !== undefined;
    const sharedGate = parts.gate(waiters.wake);
    const { concurrency } = account.limits;
    this.#allowance = new Allowance({ ...parts, windows, places, sharedGate, concurrency });
  }

  permit(request: PermitRequest): Permit | Promise<Permit> {
    const probe = this.#breaker.isOpen && this.#breaker.admits(request, this.#lanes.size > 0, this.#clock.monotonic());
    if (this.#breaker.isOpen && !probe) return this.#wait(request, false);
    try {
      return this.#permitNow(request, probe) ?? this.#wait(request, probe);
    } catch (error) {
      if (probe) this.#breaker.probed(undefined, this.#clock.monotonic());
      this.#rest();
      throw error;
    }
  }

  /** Refuses everyone who waits and whom there is an error for; true where there was somebody. */
  refuseAll(errorOf: (request: PermitRequest) => unknown): boolean {
    const wasPumping = this.#pumping;
    this.#pumping = true; // nobody is served between two refusals
    let refused = false;
    for (const waiter of [...this.#lanes]) {
      const error = errorOf(waiter.request);
      if (error === undefined) continue;
      this.#refuse(waiter, error);
      refused = true;
    }
    this.#pumping = wasPumping;
    this.#pump();
    return refused;
  }

  get health(): Health {
    return this.#breaker.health;
  }

  /** Milliseconds that a call which came now would probably wait; 0 where nothing is known to hold it back. */
  expectedWaitMs(): number {
    const now = this.#clock.monotonic();
    const at = this.#allowance.blockedUntil(now, 'limited');
    const known = Number.isFinite(at) ? Math.max(0, at - now) : 0;
    const rate = this.#allowance.allowedRate;
    this.#rest();
    return known + (rate === undefined ? 0 : (this.#lanes.size * 1000) / rate);
  }

  snapshot(): AccountSnapshot {
    const now = this.#clock.monotonic();
    const allowance = this.#allowance;
    const closedUntil = allowance.gateClosedUntil;
    return {
      account: this.account.key,
      allowedRate: allowance.allowedRate ?? null,
      limits: this.#declared.map(({ calls, perMs }) => ({ calls, perMs })),
      usedRate: allowance.usedRate(now),
      waiting: this.#lanes.size,
      inFlight: allowance.inFlight,
      concurrency: this.#limitsConcurrency ? allowance.concurrency.limit : null,
      gateClosedUntil: closedUntil > now ? wallClock(this.#clock, { at: closedUntil, now }) : null,
      deferred: allowance.deferred,
      credits: creditsOf(this.#microCredits),
      failing: this.#breaker.isOpen,
      runs: this.#lanes.runs().map((lane) => this.#runWait(lane, now)),
    };
  }

  permitDispatched(permit: GrantedPermit): void {
    this.#allowance.dispatched(permit);
    if (this.#lanes.size > 0) this.#pump();
  }

  permitReleased(permit: GrantedPermit, outcome: PermitOutcome): void {
    this.#allowance.released(permit);
    this.#countEnding(permit, outcome);
    if (!permit.isOwing) permit.budget?.settle(permit.maxCredits, permit.reserved ? 'unknown' : 0);
    this.#pump();
  }

  permitSettled(permit: GrantedPermit, outcome: PermitOutcome): void {
    this.#allowance.ended(permit, outcome);
    this.#countEnding(permit, outcome);
    const { credits } = outcome;
    // The try before it may have been charged, though this one was not.
    if (credits !== 'later') this.permitCharged(permit, permit.reserved && credits === 0 ? 'unknown' : credits);
    if (this.#lanes.size > 0) this.#pump();
  }

  permitCharged({ budget, maxCredits }: ChargedPart, credits: number | 'unknown'): void {
    if (credits !== 'unknown') this.#microCredits += microCredits(credits);
    budget?.settle(maxCredits, credits);
  }

  #permitNow(request: PermitRequest, probe: boolean): Permit | undefined {
    const allowance = this.#allowance;
    const demand = allowance.demandOf(request);
    if (demand === 'limited') this.#limitsConcurrency = true;
    if (this.#lanes.size > 0 && (demand === 'limited' || !allowance.isGateIdle)) return undefined;
    const now = allowance.isTimeless(demand) ? 0 : this.#clock.monotonic();
    if (allowance.blockedUntil(now, demand) > now) return undefined;
    request.atTurn?.();
    if (request.reserved !== true && request.budget?.reserve(request.maxCredits) === 'wait') return undefined;
    return new GrantedPermit(this, request, {
      order: this.#breaker.granted(),
      waitedMs: 0,
      pacedMs: 0,
      probe,
      slots: allowance.reserve(now, now),
    });
  }

  #wait(request: PermitRequest, probe: boolean): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        request,
        runId: request.runId,
        since: this.#clock.monotonic(),
        firstAt: undefined,
        probe,
        resolve,
        reject,
        credits: request.reserved === true ? 'held' : 'none',
        onAbort: undefined,
        lane: undefined,
        previous: undefined,
        following: undefined,
        granted: () => {
          waiter.credits = 'held';
          if (waiter.lane !== undefined) this.#lanes.resume(waiter.lane);
          this.#pump();
        },
        refused: (error) => this.#refuse(waiter, error),
      };
      if (request.signal !== undefined) {
        waiter.onAbort = () => this.#refuse(waiter, request.signal?.reason);
        request.signal.addEventListener('abort', waiter.onAbort, { once: true });
      }
      this.#leastWaitMs = Math.min(this.#leastWaitMs, request.rowWaitMs ?? this.#leastWaitMs);
      this.#lanes.add(waiter);
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#serveNext());
    } finally {
      this.#pumping = false;
    }
    this.#rest();
  }

  #rest(): void {
    if (this.#lanes.size > 0) return;
    this.#wakeUp.cancel();
    this.#allowance.unwanted();
  }

  /** Serves or holds the one whose turn it is; false where nothing can be done before something changes. */
  #serveNext(): boolean {
    const waiter = this.#lanes.next;
    if (waiter === undefined) return false;
    const now = this.#clock.monotonic();
    waiter.firstAt ??= now;
    const probeAt = waiter.probe ? 0 : this.#breaker.blockedUntil;
    if (probeAt > now) {
      if (this.#breaker.isLong(now) && this.refuseAll((request) => this.#breaker.refusal(request, now))) return true;
      this.#wakeUp.at(probeAt, now);
      return false;
    }
    const at = this.#allowance.blockedUntil(now, this.#allowance.demandOf(waiter.request));
    if (at > now) {
      // Places are asked for again at that instant; how long others keep them nobody knows.
      const isKnown = Number.isFinite(at) && this.#allowance.reason !== 'concurrency';
      const isLong = at - now > this.#leastWaitMs || this.#allowance.isClosedInVain(now);
      if (isKnown && isLong && this.#refuseLongWaits(at, now)) return true;
      this.#wakeUp.at(at, now);
      return false;
    }
    if (waiter.credits === 'none' && !this.#reserveCredits(waiter)) return true;
    if (this.#breaker.isOpen && !waiter.probe) waiter.probe = this.#breaker.takeProbe(now);
    this.#leave(waiter);
    const { request, probe, since, firstAt = now } = waiter;
    const slots = this.#allowance.reserve(now, since);
    const waited = { order: this.#breaker.granted(), waitedMs: now - since, pacedMs: now - firstAt };
    waiter.resolve(new GrantedPermit(this, request, { ...waited, probe, slots }));
    return true;
  }

  /** False where the waiter now waits for credits, or was refused because there are none. */
  #reserveCredits(waiter: Waiter): boolean {
    waiter.request.atTurn?.();
    const { budget, maxCredits } = waiter.request;
    if (budget === undefined) return true;
    try {
      if (budget.reserve(maxCredits, waiter) === 'reserved') {
        waiter.credits = 'held';
        return true;
      }
      waiter.credits = 'queued';
      if (waiter.probe) this.#breaker.probed(undefined, this.#clock.monotonic());
      waiter.probe = false;
      if (waiter.lane !== undefined) this.#lanes.hold(waiter.lane);
    } catch (error) {
      this.#refuse(waiter, error);
    }
    return false;
  }

  /**
   * For how long every call was refused, where that is too long, else 0: nobody knows when a provider that names no time takes calls
   * again.
   */
  #vainMs(now: number): number {
    const ms = this.#allowance.refusedMs(now);
    return ms > this.#maxWaitMs ? ms : 0;
  }

  #refuseLongWaits(at: number, now: number): boolean {
    const ms = at - now;
    const isVain = this.#allowance.isClosedInVain(now);
    const isTooLong = this.#vainMs(now) > 0 || ms > this.#maxWaitMs;
    const vainMs = isVain ? this.#allowance.refusedMs(now) : this.#vainMs(now);
    const until = wallClock(this.#clock, { at, now });
    return this.refuseAll((request) => {
      if (isTooLong || (isVain && request.passesOver === true))
        return exhausted(request, { ms, until, reason: this.#allowance.reason, vainMs });
      return ms > (request.rowWaitMs ?? ms) ? new LongWait(this.account.key, until) : undefined;
    });
  }

  /** Ends a waiter without a permit and gives back whatever it holds. */
  #refuse(waiter: Waiter, error: unknown): void {
    const { lane, credits } = waiter;
    const { budget, maxCredits } = waiter.request;
    if (lane === undefined) return;
    this.#leave(waiter);
    if (credits === 'queued') this.#lanes.resume(lane);
    if (waiter.probe) this.#breaker.probed(undefined, this.#clock.monotonic());
    waiter.reject(error);
    if (credits === 'queued') budget?.forget(waiter);
    if (credits === 'held' && waiter.request.reserved !== true) budget?.release(maxCredits);
    this.#pump();
  }

  #leave(waiter: Waiter): void {
    this.#lanes.remove(waiter);
    if (waiter.onAbort !== undefined) waiter.request.signal?.removeEventListener('abort', waiter.onAbort);
  }

  #countEnding({ probe, order }: GrantedPermit, outcome: PermitOutcome): void {
    const now = this.#clock.monotonic();
    if (probe) {
      this.#breaker.probed(outcome, now);
      this.refuseAll((request) => this.#breaker.asideOf(request, this.#clock));
    } else if (this.#breaker.ended(outcome, order, this.#clock))
      this.refuseAll((request) => this.#breaker.refusal(request, now));
  }

  #runWait(lane: Lane, now: number): RunWait {
    const reason = this.#breaker.isOpen ? 'outage' : this.#allowance.reason;
    const { due } = this.#wakeUp;
    const until = due === undefined ? null : wallClock(this.#clock, { at: due, now });
    return runWait(lane, { account: this.account.key, reason, until, now });
  }
}

/** When an instant of the monotonic clock is, in milliseconds since the epoch. */
function wallClock(clock: Clock, { at, now }: { readonly at: number; readonly now: number }): number {
  return Math.round(clock.now() + at - now);
}
