import type { Clock } from '../scope/index.ts';
import {
  claimsAt,
  type PlaceChange,
  type PlaceClaim,
  type PlaceShare,
  type PlaceState,
  type PlaceView,
  shareOf,
} from './place-state.ts';

/** How soon places are asked for again while somebody waits, and how long it is not looked whether others want some. */
const LOOK_MS = 20;
const IDLE_MS = 40;
/** How long a place is kept that others take turns at. */
const TURN_MS = 200;
/** How long nothing is taken of a state that was lost, so that others can enter what they hold. */
const LOST_MS = 500;
const FAILED_RETRY_MS = 1_000;
/** How rarely a claim is renewed that nothing else changes, and for how long it counts once its process is gone. */
const SEEN_MS = 500;
const LEAST_KEPT_MS = 1_000;
const MOST_KEPT_MS = 30_000;
const UNKNOWN_KEPT_MS = 5_000;
/** The longest call of late is known by what its client saw; a little more than that, and soon forgotten where no other is like it. */
const KEPT = 1.25;
const FORGOTTEN = 1 / 64;

/** What the places may know of, and tell, the calls of their account. */
export interface PlaceQueue {
  readonly inFlight: () => number;
  readonly waiting: () => number;
  /** Places that were asked for may have come. */
  readonly wake: () => void;
  /** Nobody can be served: refuses everyone who waits with this error. */
  readonly failed: (error: unknown) => void;
}

export interface SharedConcurrencyParts extends PlaceQueue {
  readonly account: string;
  readonly limit: number;
  readonly placeState: PlaceState;
  readonly clock: Clock;
}

/**
 * The declared concurrency of an account, of which this process holds places, because other processes use it too.
 *
 * Owns: how many places this process holds and when it asks for more, looks who else wants some, and gives back.
 * Does not own: the number in flight (allowance).
 *
 * Invariants
 *  1. No more calls are in flight than places are held; all that processes hold is never more than the limit, unless the
 *     state was lost meanwhile, and then as soon as calls have ended. A process that is killed holds its places for as long as
 *     its calls took of late: its provider works on, or has not seen yet that nobody listens.
 *  2. While another process wants places and has fewer than its share, nobody takes more than its own, and each call that ends
 *     beyond it gives its place back.
 *  3. Places stay held from call to call: a process that is alone asks the state for its first calls, and looks at most every
 *     20 ms whether it still is. What was not used for 40 ms is given back.
 *  4. A timer runs only while somebody waits (the account's), or places are idle.
 */
export class SharedConcurrency {
  readonly #parts: SharedConcurrencyParts;
  #held = 0;
  /** So many of those that are held must be given back. */
  #surplus = 0;
  #isAsking = false;
  #askAgainAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #turn = 0;
  /** Since when this process has had a place that others take turns at. */
  #turnSince: number | undefined;
  #hasIdleTimer = false;
  #mostInFlight = 0;
  #heldByGone = 0;
  /** How long the longest call of late took; undefined before the first one ended. */
  #longestMs: number | undefined;

  constructor(parts: SharedConcurrencyParts) {
    this.#parts = parts;
  }

  /** How many calls may be in flight with what is held. */
  get usable(): number {
    return this.#held - this.#surplus;
  }

  /** When one more may go; in the past where it may now, Infinity where only an ending or `wake` can tell. Monotonic. */
  nextAt(): number {
    const { inFlight, limit, clock } = this.#parts;
    if (inFlight() < this.usable) return Number.NEGATIVE_INFINITY;
    // Whether others want some of all the places is looked at when a call ends.
    if (this.#isAsking || (this.#held >= limit && inFlight() >= this.#held)) return Number.POSITIVE_INFINITY;
    if (clock.monotonic() < this.#askAgainAt) return this.#askAgainAt;
    this.#change(true);
    if (inFlight() < this.usable) return Number.NEGATIVE_INFINITY;
    return this.#isAsking ? Number.POSITIVE_INFINITY : this.#askAgainAt;
  }

  /** One more call is in flight. */
  used(): void {
    this.#mostInFlight = Math.max(this.#mostInFlight, this.#parts.inFlight());
  }

  /** A call is not in flight any more; how long it was, if it went out. */
  freed(latencyMs?: number): void {
    if (latencyMs !== undefined) {
      const before = this.#longestMs ?? latencyMs;
      this.#longestMs = Math.max(latencyMs, before + (latencyMs - before) * FORGOTTEN);
    }
    const isDue = this.#surplus > 0 || this.#parts.clock.monotonic() >= this.#lookedAt + LOOK_MS;
    if (isDue) this.#change(false);
    this.#watchIdle();
  }

  #change(asks: boolean, idle = 0): void {
    if (this.#isAsking) return;
    const { placeState, account, clock } = this.#parts;
    this.#lookedAt = clock.monotonic();
    if (asks) this.#askAgainAt = this.#lookedAt + LOOK_MS;
    try {
      const taken = placeState.change(account, (view) => this.#decide(view, asks, idle));
      if (taken instanceof Promise) this.#await(taken, asks);
      else this.#receive(taken);
    } catch (error) {
      this.#fail(error, asks);
    }
  }

  #await(taken: Promise<number>, asks: boolean): void {
    this.#isAsking = true;
    const { wake, inFlight } = this.#parts;
    const done = (): void => {
      this.#isAsking = false;
    };
    void taken
      .then(
        (count) => {
          done();
          this.#receive(count);
          // Calls that ended meanwhile have not given back what others want.
          if (this.#surplus > 0 && inFlight() < this.#held) this.#change(false);
        },
        (error) => {
          done();
          this.#fail(error, asks);
        },
      )
      .then(wake);
  }

  #receive(taken: number): void {
    this.#held += taken;
    if (taken > 0) this.#askAgainAt = Number.NEGATIVE_INFINITY;
    this.#watchIdle();
  }

  /** Without the state nobody knows what is free: those who wait learn why, and it is asked again a second later. */
  #fail(error: unknown, asks: boolean): void {
    if (!asks) {
      // Given up all the same, and written with the next change: there may be none, where the workspace was closed.
      this.#held = Math.min(this.#held, this.#parts.inFlight());
      this.#surplus = 0;
      return;
    }
    this.#askAgainAt = this.#parts.clock.monotonic() + FAILED_RETRY_MS;
    this.#parts.failed(error);
  }

  /** How many places are taken. Those that are given back are so at once: a call may come before the transaction's end is known. */
  #decide(view: PlaceView, asks: boolean, idle: number): PlaceChange<number> {
    const { clock, inFlight, waiting } = this.#parts;
    const now = clock.now();
    const others = claimsAt(view.others, now);
    this.#heldByGone = view.heldByGone;
    const { share } = this.#share(view.session, others);
    this.#held -= Math.max(0, Math.min(this.#held - inFlight(), Math.max(idle, this.#held - share)));
    this.#surplus = Math.max(0, this.#held - share);
    const useful = inFlight() + (asks ? Math.max(1, waiting()) : waiting());
    // Alone twice as many each time: a burst costs a few transactions, not one for each of its calls.
    const more = others.length === 0 ? Math.max(useful - this.#held, this.#held) : useful - this.#held;
    const isWhole = view.lostAt === undefined || Math.abs(now - view.lostAt) >= LOST_MS;
    const taken = asks && isWhole ? Math.max(0, Math.min(more, this.#free(others), share - this.#held)) : 0;
    const held = this.#held + taken;
    if (taken > 0) this.#noteTurn(view.session, others, held);
    if (held + useful === 0) return { claim: undefined, result: 0 };
    const { wanted = held, askedAt = 0 } = view.own ?? {};
    const still = others.length === 0 ? wanted : Math.min(wanted, Math.max(held, useful));
    const wants = asks ? { wanted: useful, askedAt: now } : { wanted: still, askedAt };
    return { claim: { held, ...wants, turn: this.#turn, ...this.#seen(view.own, now) }, result: taken };
  }

  /** Renewed now and then, not with each call. */
  #seen(own: PlaceView['own'], now: number): Pick<PlaceClaim, 'seenAt' | 'keepMs'> {
    const longest = this.#longestMs;
    const keepMs =
      longest === undefined ? UNKNOWN_KEPT_MS : Math.min(MOST_KEPT_MS, Math.ceil(LEAST_KEPT_MS + longest * KEPT));
    const isFresh = own !== undefined && Math.abs(now - own.seenAt) < SEEN_MS && own.keepMs >= keepMs;
    return isFresh ? { seenAt: own.seenAt, keepMs: own.keepMs } : { seenAt: now, keepMs };
  }

  /** What is there for processes that exist. */
  get #limit(): number {
    return Math.max(0, this.#parts.limit - this.#heldByGone);
  }

  #free(others: PlaceView['others']): number {
    return others.reduce((free, { held }) => free - held, this.#limit - this.#held);
  }

  /** How many places this process may hold. Where it has one that others take turns at, and its time is over, it goes behind them. */
  #share(session: string, others: PlaceView['others']): PlaceShare {
    const [limit, { clock }] = [this.#limit, this.#parts];
    const fair = shareOf(limit, { session, turn: this.#turn }, others);
    if (!fair.isContested || this.#held <= fair.level) {
      this.#turnSince = undefined;
      return fair;
    }
    const isItsTurn = this.#turnSince !== undefined && clock.monotonic() < this.#turnSince + TURN_MS;
    // Where a place is free already, those who wait have not come for it yet.
    if (isItsTurn || this.#free(others) > 0) return { ...fair, share: fair.level + 1 };
    this.#goBehind(others);
    const next = shareOf(limit, { session, turn: this.#turn }, others);
    this.#turnSince = next.share > next.level ? clock.monotonic() : undefined;
    return next;
  }

  /** Begins this process's turn where it takes a place that others take turns at. */
  #noteTurn(session: string, others: PlaceView['others'], held: number): void {
    const { level, isContested } = shareOf(this.#limit, { session, turn: this.#turn }, others);
    if (!isContested || held <= level) return;
    this.#goBehind(others);
    this.#turnSince = this.#parts.clock.monotonic();
  }

  #goBehind(others: PlaceView['others']): void {
    this.#turn = others.reduce((most, { turn }) => Math.max(most, turn), this.#turn) + 1;
  }

  /** Gives back what was not used for a while, so that others need not wait for a call of this process to end. */
  #watchIdle(): void {
    const { clock, inFlight } = this.#parts;
    if (this.#hasIdleTimer || this.#held <= inFlight()) return;
    this.#hasIdleTimer = true;
    this.#mostInFlight = inFlight();
    const look = (): void => {
      this.#hasIdleTimer = false;
      if (this.#held > this.#mostInFlight) this.#change(false, this.#held - this.#mostInFlight);
      this.#watchIdle();
    };
    clock.after(IDLE_MS, look, { keepAlive: false });
  }
}
