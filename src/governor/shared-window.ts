import type { Clock } from '../scope/index.ts';
import type { RateGrant, RateState } from './rate-state.ts';
import { LocalWindow, latenessOf, type PaceWindow, slackOf, type WindowLimit, type WindowQueue } from './window.ts';

const BLOCK_MS = 100;
const FAILED_RETRY_MS = 1_000;
const WALL_STEP_MS = 2;
/** What is lost of a longer window is lost for longer than anyone waits. */
const LONG_MS = 60_000;
const LONGEST_LAPSE_MS = 15_000;
/** Which part of a long window may lie ready for calls that have not come. */
const LONG_SPARE = 1 / 1_000;
const NOTHING_RETRY_MS = 20;
const LOOK_AGAIN_MS = 1_000;

/** A slot that this process was granted and has not used. Instants are monotonic. */
interface Slot {
  readonly usableFrom: number;
  /** When it counts. */
  readonly at: number;
  readonly lapsesAt: number;
  readonly isSpare: boolean;
}

/**
 * One declared limit whose slots are kept in a RateState, because other processes use it too and it outlives this one.
 *
 * Owns: the slots that this process was granted and has not used, and a window over its own dispatches, which keeps the
 * limit here when the wall clock jumps.
 *
 * Invariants
 *  1. A call goes out only on a granted slot, at its instant or later (a spare one: at the instant at which it counts or
 *     earlier); one that goes, or has been sent, more than the slack later is moved in the state, so that others see the real
 *     instant.
 *  2. Slots are taken for those who could go now, at most 100 ms (or a quarter of `per`) ahead, and spare ones, while the
 *     window is less than half used, for as many as went in the last such time: so a call of a fast account costs no
 *     transaction of its own. One that is not used within a quarter of `per` (at most 15 s) lapses: kept longer it might be
 *     moved over instants that others have been granted meanwhile.
 *  3. The first `calls` requests of this process, which make their connections first, count in the state too as late as
 *     they may arrive until as many answers have come (see LocalWindow).
 *  4. At most one request for slots is under way.
 *  5. A slot that is not used is given back: when it lapses, and at the end of the process. Of a window over a minute also
 *     once nobody waits any more, and it is never taken sooner than shorter windows let the calls go that want it; spare are a
 *     thousandth at most. So a kill takes no more of a day's quota than that, and what goes in 100 ms.
 *  6. A long window that is used up is looked at again for whoever comes later: others may have given back.
 */
export class SharedWindow implements PaceWindow {
  readonly perMs: number;
  readonly #limit: WindowLimit;
  readonly #own: LocalWindow;
  readonly #parts: SharedWindowParts;
  readonly #blockMs: number;
  readonly #lapseMs: number;
  readonly #isLong: boolean;
  /** How many slots are wanted at once at the most. */
  readonly #most: number;
  /** In the order in which they become usable. */
  #stock: Slot[] = [];
  #asking = false;
  #askAgainAt = Number.NEGATIVE_INFINITY;
  #askedAt = Number.NEGATIVE_INFINITY;
  #lapsing = false;
  /** Wall instants by monotonic ones, so that a slot keeps its name in the state when the wall clock jumps. */
  readonly #granted = new Map<number, number>();
  #usedFrom = Number.NEGATIVE_INFINITY;
  #used = 0;
  #usedBefore = 0;
  #wallAhead: number | undefined;
  #sent = 0;
  /** When those of the first requests count that may not have arrived, oldest first; wall clock. */
  readonly #cold: number[] = [];
  /** Where those count that were dispatched in this turn, and the same instant on the monotonic clock. */
  #unsent: { readonly wall: number; readonly at: number }[] = [];

  constructor(limit: WindowLimit, parts: SharedWindowParts) {
    this.perMs = limit.perMs;
    this.#own = new LocalWindow(limit);
    this.#limit = limit;
    this.#parts = parts;
    this.#lapseMs = Math.min(limit.perMs / 4, LONGEST_LAPSE_MS);
    this.#blockMs = Math.min(BLOCK_MS, this.#lapseMs);
    this.#isLong = limit.perMs > LONG_MS;
    const inBlock = parts.shorter.map(({ calls, perMs }) => Math.ceil((calls * this.#blockMs) / perMs));
    this.#most = this.#isLong ? Math.min(...inBlock) : Number.POSITIVE_INFINITY;
    parts.rateState.atEnd(() => this.#giveBack(this.#stock.splice(0)));
  }

  get allowedRate(): number {
    return this.#own.allowedRate;
  }

  nextAt(now: number): number {
    const own = this.#own.nextAt();
    if (own > now) return own;
    this.#dropLapsed(now);
    if (this.#stock.length === 0 && !this.#asking && now >= this.#nextAsk) this.#ask(now);
    const first = this.#stock[0];
    if (first !== undefined) return first.usableFrom;
    if (this.#asking) return Number.POSITIVE_INFINITY;
    // Whoever has its share already is told an instant that may be past; without a slot nobody goes.
    return this.#askAgainAt > now ? this.#askAgainAt : now + NOTHING_RETRY_MS;
  }

  reserve(now: number, waitingSince: number): number {
    this.#own.reserve(now, waitingSince);
    this.#used++;
    return this.#stock.shift()?.at ?? now;
  }

  dispatched(slot: number, now: number): void {
    this.#own.dispatched(Math.min(slot, now), now);
    const from = this.#granted.get(slot);
    if (from === undefined) return;
    const at = from + now - slot;
    if (this.#sent < this.#limit.calls && !this.#limit.smooth) {
      this.#sent++;
      const late = at + latenessOf(this.perMs);
      this.#cold.push(late);
      this.#move(from, late);
      return;
    }
    const isLate = now - slot > slackOf(this.perMs);
    if (isLate) this.#move(from, at);
    this.#unsent.push(isLate ? { wall: at, at: now } : { wall: from, at: slot });
  }

  sent(now: number): void {
    this.#own.sent(now);
    if (this.#unsent.length === 0) return;
    for (const { wall, at } of this.#unsent) if (now - at > slackOf(this.perMs)) this.#move(wall, wall + now - at);
    this.#unsent = [];
  }

  arrived(now: number): void {
    this.#own.arrived(now);
    const late = this.#cold.shift();
    const at = now + (this.#wallAhead ?? 0);
    if (late !== undefined && at < late) this.#move(late, at);
  }

  release(slot: number): void {
    this.#own.release();
    const lapsesAt = this.#parts.clock.monotonic() + this.#lapseMs;
    this.#stock.unshift({ usableFrom: Number.NEGATIVE_INFINITY, at: slot, lapsesAt, isSpare: false });
    this.#lapseLater();
  }

  unwanted(): void {
    if (!this.#isLong || this.#stock.length === 0) return;
    this.#giveBack(this.#stock.filter(({ isSpare }) => !isSpare));
    this.#stock = this.#stock.filter(({ isSpare }) => isSpare);
  }

  /** A slot of a short window is back before anyone has looked; for one of a long window every call would look. */
  get #nextAsk(): number {
    return this.#isLong ? Math.min(this.#askAgainAt, this.#askedAt + LOOK_AGAIN_MS) : this.#askAgainAt;
  }

  #move(from: number, to: number | null): void {
    const { rateState, account, asker } = this.#parts;
    rateState.moved({ account, asker, limit: this.#limit, from, to });
  }

  #giveBack(slots: readonly Slot[]): void {
    for (const { at } of slots) {
      const from = this.#granted.get(at);
      if (from !== undefined) this.#move(from, null);
    }
    if (slots.length > 0) this.#askAgainAt = Math.min(this.#askAgainAt, this.#parts.clock.monotonic());
  }

  #dropLapsed(now: number): void {
    let lapsed = 0;
    while ((this.#stock[lapsed]?.lapsesAt ?? Number.POSITIVE_INFINITY) < now) lapsed++;
    if (lapsed > 0) this.#giveBack(this.#stock.splice(0, lapsed));
  }

  /** Nobody may look at a long window for hours. */
  #lapseLater(): void {
    const lapsesAt = this.#stock[0]?.lapsesAt;
    if (!this.#isLong || this.#lapsing || lapsesAt === undefined) return;
    const { clock } = this.#parts;
    this.#lapsing = true;
    const lapse = (): void => {
      this.#lapsing = false;
      this.#dropLapsed(clock.monotonic());
      this.#lapseLater();
    };
    clock.after(lapsesAt - clock.monotonic() + 1, lapse, { keepAlive: false });
  }

  #ask(now: number): void {
    this.#askedAt = now;
    for (const slot of this.#granted.keys()) if (slot < now - this.perMs) this.#granted.delete(slot);
    const { rateState, account, asker, ready } = this.#parts;
    const toWall = this.#toWall(now);
    // A timer that was late by less than the slack does not put the slot off that it was set for.
    const from = Math.max(now - slackOf(this.perMs), Math.min(now, this.#askAgainAt)) + toWall;
    const want = Math.max(1, Math.min(ready(this.#blockMs), this.#most));
    const [spare, until] = [this.#expected(now), now + toWall + this.#blockMs];
    const request = { account, asker, limit: this.#limit, want, spare, now: from, until };
    try {
      const grant = rateState.take(request);
      if (grant instanceof Promise) this.#await(grant, -toWall, until);
      else this.#receive(grant, -toWall, until);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** What to add to a monotonic instant; the same until the wall clock is set, since that one counts whole milliseconds. */
  #toWall(now: number): number {
    const toWall = this.#parts.clock.now() - now;
    if (this.#wallAhead === undefined || Math.abs(toWall - this.#wallAhead) > WALL_STEP_MS) this.#wallAhead = toWall;
    return this.#wallAhead;
  }

  /** How many went in the last block's time. */
  #expected(now: number): number {
    const since = now - this.#usedFrom;
    if (since >= this.#blockMs) {
      this.#usedBefore = Math.floor((this.#used * this.#blockMs) / since);
      this.#used = 0;
      this.#usedFrom = now;
    }
    const expected = Math.max(this.#usedBefore, this.#used);
    return this.#isLong ? Math.min(expected, Math.floor(this.#limit.calls * LONG_SPARE)) : expected;
  }

  #await(grant: Promise<RateGrant>, toMonotonic: number, until: number): void {
    this.#asking = true;
    const { wake } = this.#parts;
    grant.then(
      (granted) => {
        this.#asking = false;
        this.#receive(granted, toMonotonic, until);
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

  #receive(grant: RateGrant, toMonotonic: number, until: number): void {
    const now = this.#parts.clock.monotonic();
    this.#askAgainAt = grant.nextAt + toMonotonic;
    for (const wall of grant.slots) {
      const at = wall + toMonotonic;
      this.#granted.set(at, wall);
      this.#stock.push({ usableFrom: at, at, lapsesAt: Math.max(now, at) + this.#lapseMs, isSpare: false });
    }
    const at = until + toMonotonic;
    if (grant.spare > 0) this.#granted.set(at, until);
    for (let spare = 0; spare < grant.spare; spare++)
      this.#stock.push({ usableFrom: Number.NEGATIVE_INFINITY, at, lapsesAt: at, isSpare: true });
    this.#lapseLater();
  }
}

export interface SharedWindowParts extends WindowQueue {
  readonly account: string;
  readonly rateState: RateState;
  readonly clock: Clock;
  /** One name for each process. */
  readonly asker: string;
  /** The limits of the account for shorter times. */
  readonly shorter: readonly WindowLimit[];
}
