import type { Clock } from '../scope/index.ts';

export interface PoolOptions<Item> {
  /** Items in flight at most, to begin with. */
  readonly limit: number;
  /** Bytes in flight at most; one item is always let in. */
  readonly maxBytes: number;
  /** Items that may be parked before no further one starts. */
  readonly maxParked: number;
  readonly clock: Clock;
  /** The next item, or undefined where `fill` must be awaited first. */
  readonly take: () => Item | undefined;
  /** Brings further items; false at the end of the source. */
  readonly fill: () => Promise<boolean>;
  readonly bytes: (item: Item) => number;
  /** False once no further item may start. */
  readonly mayStart: () => boolean;
  /** A promise to wait for before the next start. */
  readonly room: () => Promise<void> | undefined;
  /** Told when nothing further starts before one of so many items in flight ends, and with 0 once something may. */
  readonly stuck?: ((inFlight: number) => void) | undefined;
  /** Starts an item, which calls `release` or `park` once, at once or later. */
  readonly start: (item: Item) => void;
  /**
   * Told when only parked items are left or may not be added to (true), and when the pool goes on after that (false).
   * Without it the pool ends there as 'parked'.
   */
  readonly rest?: ((resting: boolean) => void) | undefined;
}

/** How a pool ended: all items released, some left parked, or stopped from starting any further one. */
export type PoolEnd = 'drained' | 'parked' | 'stopped';

const TURN_ITEMS = 256;
const TURN_MS = 8;
const ITEMS_PER_LOOK = 16;

/**
 * Keeps up to `limit` items in flight, started in the order of their source. Knows nothing of what an item is.
 *
 * Owns: how many items and bytes are in flight, and when the next may start.
 * Does not own: items, their results, or why starting stops.
 *
 * Invariants
 *  1. Items start in order; the end of any one lets the next start, whichever it was.
 *  2. In flight are at most `limit` items (more once `grow` was called) and `maxBytes` bytes, or one item. Items that were
 *     woken may be as many again: what all others wait for, credits say, may be what these have.
 *  3. The event loop gets a turn at least every 256 starts or 8 ms, also where nothing ever waits.
 *  4. While `maxParked` are parked, only items that were woken start.
 */
export class Pool<Item> {
  readonly #options: PoolOptions<Item>;
  #limit: number;
  #isStuck = false;
  #inFlight = 0;
  #bytesInFlight = 0;
  #parked = 0;
  /** Parked items that were woken and have not started again yet. */
  #woken = 0;
  #stirred = false;
  #wake: (() => void) | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: PoolOptions<Item>) {
    this.#options = options;
    this.#limit = options.limit;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get parked(): number {
    return this.#parked;
  }

  release(bytes: number): void {
    this.#inFlight--;
    this.#bytesInFlight -= bytes;
    this.#awake();
  }

  /** Gives the slot back, though the item is not finished. */
  park(bytes: number): void {
    this.#parked++;
    this.release(bytes);
  }

  /** Lets so many items be in flight from now on, unless there may be more. */
  grow(limit: number): void {
    if (limit <= this.#limit) return;
    this.#limit = limit;
    this.#awake();
  }

  /** An item that was parked before this pool began and stays so. */
  leftParked(): void {
    this.#parked++;
  }

  /** A parked item is among those that `take` or `fill` bring next. */
  woke(): void {
    this.#parked--;
    this.#woken++;
    this.#awake();
  }

  /** Looks again whether anything may start. */
  stir(): void {
    this.#awake();
  }

  /** Starts nothing more, and makes `run` reject with the first such error without waiting for what is in flight. */
  stop(error: unknown): void {
    this.#failure ??= { error };
    this.#awake();
  }

  async run(): Promise<PoolEnd> {
    const { options, turn } = { options: this.#options, turn: new Turn(this.#options.clock) };
    // Taken, and held back until there is room: one that was woken goes before any other.
    const held: { woken: Item | undefined; other: Item | undefined } = { woken: undefined, other: undefined };
    for (;;) {
      this.#stirred = false;
      if (this.#failure !== undefined) throw this.#failure.error;
      if (!options.mayStart()) return 'stopped';
      const room = options.room();
      if (room !== undefined) {
        await room;
        continue;
      }
      const kind = this.#woken > 0 ? 'woken' : 'other';
      if (this.#crowded()) {
        if (this.#inFlight > 0) await this.#change();
        else if (!(await this.#rested())) return 'parked';
        continue;
      }
      held[kind] ??= options.take();
      const item = held[kind];
      if (item === undefined) {
        if (await options.fill()) continue;
        const end = await this.#nothingToStart();
        if (end !== undefined) return end;
        continue;
      }
      const bytes = options.bytes(item);
      if (this.#full(bytes, kind === 'woken' ? 2 * this.#limit : this.#limit)) {
        await this.#change();
        continue;
      }
      this.#inFlight++;
      this.#bytesInFlight += bytes;
      if (kind === 'woken') this.#woken--;
      held[kind] = undefined;
      options.start(item);
      if (turn.over()) await turn.pass();
    }
  }

  /** Waits for a change; an end where none can come. */
  async #nothingToStart(): Promise<PoolEnd | undefined> {
    if (this.#woken > 0 || this.#failure !== undefined) return undefined;
    if (this.#inFlight > 0) {
      await this.#change();
      return undefined;
    }
    if (this.#parked === 0) return 'drained';
    return (await this.#rested()) ? undefined : 'parked';
  }

  /** Waits for a parked item to wake; false where the pool is to end instead. */
  async #rested(): Promise<boolean> {
    const { rest } = this.#options;
    if (rest === undefined) return false;
    rest(true);
    await this.#change();
    rest(false);
    return true;
  }

  #crowded(): boolean {
    return this.#parked >= this.#options.maxParked && this.#woken === 0;
  }

  #full(bytes: number, limit: number): boolean {
    if (this.#inFlight === 0) return false;
    const { maxBytes } = this.#options;
    return this.#inFlight >= limit || this.#bytesInFlight + bytes > maxBytes;
  }

  #change(): Promise<void> {
    // What happened while something else was awaited is a change, too.
    if (this.#stirred) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#inFlight === 0) return;
      this.#isStuck = true;
      this.#options.stuck?.(this.#inFlight);
    });
  }

  #awake(): void {
    this.#stirred = true;
    if (this.#isStuck) this.#options.stuck?.(0);
    this.#isStuck = false;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** Counts starts and their time within one turn of the event loop. */
class Turn {
  readonly #clock: Clock;
  #items = 0;
  #since = 0;
  readonly #ended = (): void => {
    this.#items = 0;
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  over(): boolean {
    if (this.#items === 0) {
      this.#since = this.#clock.monotonic();
      setImmediate(this.#ended);
    }
    this.#items++;
    if (this.#items >= TURN_ITEMS) return true;
    return this.#items % ITEMS_PER_LOOK === 0 && this.#clock.monotonic() - this.#since > TURN_MS;
  }

  async pass(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
