import type { Clock } from '../scope/index.ts';
import type { RateGrant, RateState } from './rate-state.ts';
import { LocalWindow, type PaceWindow, slackOf, type WindowLimit, type WindowQueue } from './window.ts';

const BLOCK_MS = 100;
const FAILED_RETRY_MS = 1_000;

/**
 * One declared limit whose slots are kept in a RateState, because other processes use it too or it outlives this one.
 *
 * Owns: the slots that this process was granted and has not used, and a window over its own dispatches. That one learns
 * from refusals (each process learns its own share), and keeps the limit here when the wall clock jumps.
 *
 * Invariants
 *  1. A call goes out only on a granted slot, at its instant or later; one that goes more than the slack later is moved
 *     in the state, so that others see the real instant.
 *  2. Slots are taken for those who wait, at most 100 ms (or a quarter of `per`) ahead. One that is not used within a
 *     quarter of `per` lapses: kept longer it might be moved over instants that others have been granted meanwhile.
 *  3. At most one request for slots is under way.
 */
export class SharedWindow implements PaceWindow {
  readonly perMs: number;
  readonly #limit: WindowLimit;
  readonly #own: LocalWindow;
  readonly #parts: SharedWindowParts;
  readonly #blockMs: number;
  readonly #lapseMs: number;
  /** Monotonic instants, ascending. */
  #stock: number[] = [];
  #asking = false;
  #askAgainAt = Number.NEGATIVE_INFINITY;
  /** Wall instants by monotonic ones, so that a slot keeps its name in the state when the wall clock jumps. */
  readonly #granted = new Map<number, number>();

  constructor(limit: WindowLimit, parts: SharedWindowParts) {
    this.perMs = limit.perMs;
    this.#own = new LocalWindow(limit);
    this.#limit = limit;
    this.#parts = parts;
    this.#lapseMs = limit.perMs / 4;
    this.#blockMs = Math.min(BLOCK_MS, this.#lapseMs);
  }

  get allowedRate(): number {
    return this.#own.allowedRate;
  }

  nextAt(now: number): number {
    const own = this.#own.nextAt(now);
    if (own > now) return own;
    this.#dropLapsed(now);
    if (this.#stock.length === 0 && !this.#asking && now >= this.#askAgainAt) this.#ask(now);
    const first = this.#stock[0];
    if (first !== undefined) return first;
    return this.#asking ? Number.POSITIVE_INFINITY : this.#askAgainAt;
  }

  reserve(now: number, waitingSince: number): number {
    this.#own.reserve(now, waitingSince);
    return this.#stock.shift() ?? now;
  }

  dispatched(slot: number, now: number): void {
    this.#own.dispatched(slot, now);
    const from = this.#granted.get(slot);
    if (from === undefined || now - slot <= slackOf(this.perMs)) return;
    const { rateState, account } = this.#parts;
    rateState.moved({ account, limit: this.#limit, from, to: from + now - slot });
  }

  arrived(now: number): void {
    this.#own.arrived(now);
  }

  release(slot: number): void {
    this.#own.release();
    this.#stock.unshift(slot);
  }

  refused(closedAt: number, refused: number): void {
    this.#own.refused(closedAt, refused);
  }

  #dropLapsed(now: number): void {
    for (let slot = this.#stock[0]; slot !== undefined && slot + this.#lapseMs < now; slot = this.#stock[0])
      this.#stock.shift();
  }

  #ask(now: number): void {
    for (const slot of this.#granted.keys()) if (slot < now - this.perMs) this.#granted.delete(slot);
    const { rateState, account, clock, asker, waiting } = this.#parts;
    const wall = clock.now();
    const want = Math.max(1, Math.min(this.#limit.calls, waiting()));
    const request = { account, asker, limit: this.#limit, want, now: wall, until: wall + this.#blockMs };
    try {
      const grant = rateState.take(request);
      if (grant instanceof Promise) this.#await(grant, now - wall);
      else this.#receive(grant, now - wall);
    } catch (error) {
      this.#fail(error);
    }
  }

  #await(grant: Promise<RateGrant>, toMonotonic: number): void {
    this.#asking = true;
    const { wake } = this.#parts;
    grant.then(
      (granted) => {
        this.#asking = false;
        this.#receive(granted, toMonotonic);
        wake();
      },
      (error) => {
        this.#asking = false;
        this.#fail(error);
        wake();
      },
    );
  }

  /** Without the state nobody knows what is free: those who wait learn why, and it is asked again a second later. */
  #fail(error: unknown): void {
    const { clock, failed } = this.#parts;
    this.#askAgainAt = clock.monotonic() + FAILED_RETRY_MS;
    failed(error);
  }

  #receive(grant: RateGrant, toMonotonic: number): void {
    this.#askAgainAt = grant.nextAt + toMonotonic;
    for (const at of grant.slots) {
      this.#granted.set(at + toMonotonic, at);
      this.#stock.push(at + toMonotonic);
    }
  }
}

export interface SharedWindowParts extends WindowQueue {
  readonly account: string;
  readonly rateState: RateState;
  readonly clock: Clock;
  /** One name for each process. */
  readonly asker: string;
}
