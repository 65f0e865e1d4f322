import type { Clock, Place } from '../scope/index.ts';
import type { Instant, RunReads } from '../store/index.ts';

const LOOK_MS = 1_000;

/**
 * The rows that are parked while the attempt goes on with others.
 *
 * Owns: which rows are parked in this attempt, until when at the latest, and the newest signal that was looked at.
 * Does not own: what they wait for (waits), or their place in a pool (dataset).
 *
 * Invariants
 *  1. A row is woken once for each time it was parked.
 *  2. News of a row that comes before it is parked is not lost: it is woken as soon as it is.
 */
export class ParkedRows {
  readonly #reads: RunReads;
  readonly #clock: Clock;
  readonly #runNo: number;
  readonly #parked = new Map<string, { readonly place: Place; readonly until: Instant | null }>();
  readonly #news = new Set<string>();
  readonly #wakers = new Map<number, (ordinal: number) => void>();
  #seenSignal = 0;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(reads: RunReads, clock: Clock, runNo: number) {
    this.#reads = reads;
    this.#clock = clock;
    this.#runNo = runNo;
  }

  /** The newest signal that this attempt knows of. */
  get seenSignal(): number {
    return this.#seenSignal;
  }

  /** Call before anything of the run is read: signals up to now are seen by whatever is read later. */
  async open(): Promise<void> {
    this.#seenSignal = (await this.#reads.answeredSince(this.#runNo, Number.MAX_SAFE_INTEGER)).newest;
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  onWake(datasetNo: number, wake: (ordinal: number) => void): void {
    this.#wakers.set(datasetNo, wake);
  }

  add(place: Place, until: Instant | null): void {
    const name = nameOf(place);
    this.#parked.set(name, { place, until });
    if (this.#news.delete(name) || (until !== null && until <= this.#clock.now())) this.#wake(name);
    else this.#schedule();
  }

  /** Something that this row waits for is over. */
  #tellNews(place: Place): void {
    const name = nameOf(place);
    if (this.#parked.has(name)) this.#wake(name);
    else this.#news.add(name);
  }

  #wake(name: string): void {
    const parked = this.#parked.get(name);
    if (parked === undefined) return;
    this.#parked.delete(name);
    this.#wakers.get(parked.place.datasetNo)?.(parked.place.ordinal);
  }

  #schedule(): void {
    if (this.#cancel !== undefined || this.#closed || this.#parked.size === 0) return;
    this.#cancel = this.#clock.after(LOOK_MS, () => void this.#look(), { keepAlive: false });
  }

  async #look(): Promise<void> {
    try {
      const { places, newest } = await this.#reads.answeredSince(this.#runNo, this.#seenSignal);
      this.#seenSignal = Math.max(this.#seenSignal, newest);
      for (const place of places) if (place.datasetNo !== 0) this.#tellNews(place);
      const now = this.#clock.now();
      for (const [name, { until }] of this.#parked) if (until !== null && until <= now) this.#wake(name);
    } catch {
      // A store that cannot be read now is asked again; the next attempt reads all of it anyway.
    }
    this.#cancel = undefined;
    this.#schedule();
  }
}

function nameOf({ datasetNo, ordinal }: Place): string {
  return `${datasetNo}:${ordinal}`;
}
