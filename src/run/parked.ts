import { type Clock, type Place, placeName } from '../scope/index.ts';
import type { RunReads } from '../store/index.ts';
import type { WaitSpan } from './waits.ts';

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
 *  3. A row whose call was put off is woken at its instant, and the attempt stays for it.
 */
export class ParkedRows {
  readonly #reads: RunReads;
  readonly #clock: Clock;
  readonly #runNo: number;
  readonly #parked = new Map<string, WaitSpan & { readonly place: Place }>();
  readonly #news = new Set<string>();
  /** Rows of which a call was put off, parked by now or about to be. */
  readonly #putOff = new Set<string>();
  readonly #wakers = new Map<number, (ordinal: number) => void>();
  #seenSignal = 0;
  #lookAt = Number.POSITIVE_INFINITY;
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

  /** True while a row is parked, or is about to be, that the attempt stays for. */
  get holds(): boolean {
    return this.#putOff.size > 0;
  }

  /** A call of this row was put off: the row is parked as soon as the rest of it has come to its end. */
  hold(place: Place): void {
    this.#putOff.add(placeName(place));
  }

  /** The row is over. */
  release(place: Place): void {
    if (this.#putOff.size > 0) this.#putOff.delete(placeName(place));
  }

  add(place: Place, span: WaitSpan): void {
    const name = placeName(place);
    const { until, isPutOff } = span;
    this.#parked.set(name, { place, until, isPutOff });
    if (isPutOff) this.#putOff.add(name);
    else this.#putOff.delete(name);
    if (this.#news.delete(name) || (until !== null && until <= this.#clock.now())) this.#wake(name);
    else this.#schedule();
  }

  /** Something that this row waits for is over. */
  #tellNews(place: Place): void {
    const name = placeName(place);
    if (this.#parked.has(name)) this.#wake(name);
    else this.#news.add(name);
  }

  #wake(name: string): void {
    const parked = this.#parked.get(name);
    if (parked === undefined) return;
    this.#parked.delete(name);
    this.#putOff.delete(name);
    this.#wakers.get(parked.place.datasetNo)?.(parked.place.ordinal);
  }

  #schedule(): void {
    if (this.#closed || this.#parked.size === 0) return;
    const now = this.#clock.now();
    let at = now + LOOK_MS;
    for (const { until, isPutOff } of this.#parked.values()) if (isPutOff && until !== null && until < at) at = until;
    if (at >= this.#lookAt) return;
    this.#cancel?.();
    this.#lookAt = at;
    const ms = Math.max(0, at - now);
    this.#cancel = this.#clock.after(ms, () => void this.#look(), { keepAlive: this.holds });
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
    this.#lookAt = Number.POSITIVE_INFINITY;
    this.#schedule();
  }
}
