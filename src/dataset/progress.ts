import { roundedCredits, Slots } from '../scope/index.ts';
import type { DatasetHost, DatasetProgress } from './host.ts';
import type { LegOutcome } from './program.ts';

/** A row in flight, as far as progress shows it. */
export interface ActiveRow {
  readonly ordinal: number;
  /** On the monotonic clock. */
  readonly startedAt: number;
  /** Column and step it is in. */
  readonly path: string;
  /** Where the counters keep it. */
  slot: number;
}

const SLOW_MS = 60_000;
const SHOWN_SLOW = 20;
const TICK_MS = 10_000;

interface LegCount {
  readonly path: string;
  hits: number;
  misses: number;
  unavailable: number;
  skipped: number;
  failed: number;
  rejected: number;
}

/**
 * The counters of one dataset.
 *
 * Owns: how many rows are in which state, by what has been recorded.
 * Does not own: when somebody is shown them (the run).
 *
 * Invariants
 *  1. total = queued + active + waiting + completed + failed + skipped, after every method.
 *  2. A row leaves `active` when its record is durable, not when its function returned.
 */
export class DatasetCounters {
  datasetNo = 0;
  readonly #host: DatasetHost;
  readonly #key: string;
  readonly #legs: LegCount[];
  readonly #rows = new Slots<ActiveRow>();
  #queued = 0;
  #active = 0;
  #waiting = 0;
  #completed = 0;
  #failed = 0;
  #skipped = 0;
  #started = 0;
  #reused = 0;
  #credits = 0;
  #telling = false;
  #cancelTick: (() => void) | undefined;
  readonly #snapshot = (): DatasetProgress => this.snapshot();

  constructor(host: DatasetHost, key: string, legs: readonly string[]) {
    this.#host = host;
    this.#key = key;
    this.#legs = legs.map((path) => ({ path, hits: 0, misses: 0, unavailable: 0, skipped: 0, failed: 0, rejected: 0 }));
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Rows that were written to the frame. */
  admitted(rows: { readonly running: number; readonly skipped: number }): void {
    this.#queued += rows.running;
    this.#skipped += rows.skipped;
    this.#changed();
  }

  /** Rows of a sealed frame, of which earlier attempts have finished some. */
  resumed(rows: {
    readonly total: number;
    readonly skipped: number;
    readonly completed: number;
    readonly failed: number;
    readonly begun: number;
    readonly credits: number;
    /** How the legs of rows that are finished have ended. */
    readonly legs: readonly { readonly outcomes: readonly LegOutcome[]; readonly rows: number }[];
  }): void {
    for (const { outcomes, rows: count } of rows.legs)
      outcomes.forEach((outcome, leg) => {
        this.leg(leg, outcome, count);
      });
    this.#skipped = rows.skipped;
    this.#completed = rows.completed;
    this.#failed = rows.failed;
    this.#reused = rows.completed + rows.failed;
    this.#queued = rows.total - rows.skipped - this.#reused;
    this.#started = rows.begun;
    this.#credits = rows.credits;
    this.#changed();
  }

  /** A row that an earlier attempt parked, and that still waits. */
  leftParked(): void {
    this.#queued--;
    this.#waiting++;
    this.#changed();
  }

  /** A parked row is to be run again. */
  woke(): void {
    this.#waiting--;
    this.#queued++;
    this.#changed();
  }

  /** `again`: an earlier attempt had begun the row, so that it is counted as started already. */
  started(row: ActiveRow, again: boolean): void {
    row.slot = this.#rows.put(row);
    this.#queued--;
    this.#active++;
    if (!again) this.#started++;
    this.#changed();
  }

  recorded(row: ActiveRow, state: 'completed' | 'failed' | 'parked', credits: number): void {
    this.#rows.free(row.slot);
    row.slot = -1;
    this.#active--;
    if (state === 'completed') this.#completed++;
    else if (state === 'failed') this.#failed++;
    else this.#waiting++;
    this.#credits = roundedCredits(this.#credits + credits);
    this.#changed();
  }

  leg(leg: number, outcome: LegOutcome, rows = 1): void {
    const count = this.#legs[leg];
    if (count === undefined) return;
    if (outcome === 'hit') count.hits += rows;
    else if (outcome === 'miss') count.misses += rows;
    else if (outcome === 'unavailable') count.unavailable += rows;
    else if (outcome === 'skipped') count.skipped += rows;
    else if (outcome === 'failed') count.failed += rows;
    else if (outcome === 'rejected') count.rejected += rows;
  }

  /** Tells the run every ten seconds while rows are active, so that slow ones are seen though nothing changes. */
  watch(): void {
    const tick = (): void => {
      if (this.#active > 0) this.#changed();
      this.#cancelTick = this.#host.clock.after(TICK_MS, tick, { keepAlive: false });
    };
    this.#cancelTick = this.#host.clock.after(TICK_MS, tick, { keepAlive: false });
  }

  /** Ends the watch, and tells the run how it stands at the end. */
  unwatch(): void {
    this.#cancelTick?.();
    this.#host.progress(this.#snapshot);
  }

  snapshot(): DatasetProgress {
    const queued = this.#queued;
    const active = this.#active;
    const waiting = this.#waiting;
    const completed = this.#completed;
    const failed = this.#failed;
    const skipped = this.#skipped;
    return {
      key: this.#key,
      datasetNo: this.datasetNo,
      total: queued + active + waiting + completed + failed + skipped,
      started: this.#started,
      active,
      queued,
      waiting,
      completed,
      failed,
      skipped,
      reused: this.#reused,
      credits: this.#credits,
      legs: this.#legs.map((leg) => ({ ...leg })),
      slow: this.#slow(),
    };
  }

  #slow(): DatasetProgress['slow'] {
    const now = this.#host.clock.monotonic();
    const slow: { ordinal: number; path: string; sinceMs: number }[] = [];
    for (const row of this.#rows) {
      const sinceMs = now - row.startedAt;
      if (sinceMs >= SLOW_MS) slow.push({ ordinal: row.ordinal, path: row.path, sinceMs });
    }
    return slow.sort((a, b) => b.sinceMs - a.sinceMs || a.ordinal - b.ordinal).slice(0, SHOWN_SLOW);
  }

  /** Once a turn of the event loop: thousands of rows may change in one. */
  #changed(): void {
    if (this.#telling) return;
    this.#telling = true;
    setImmediate(() => {
      this.#telling = false;
      this.#host.progress(this.#snapshot);
    });
  }
}
