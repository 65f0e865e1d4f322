import { type Frame, type FrameSlice, frameSlices, type Range, RUNS } from './frame-rows.ts';
import type { DatasetHost } from './host.ts';
import { KEY_BYTES } from './key-index.ts';
import type { PreviousCells } from './previous.ts';
import type { RowItem } from './row.ts';

/** What `rowStates` says of a row that is recorded. */
const COMPLETED = 1;
const FAILED = 2;
const PARKED = 3;

const STATES_ROWS = 65_536;

interface Prepared {
  readonly slice: FrameSlice;
  /** Places within the slice of the rows that are to run. */
  readonly rows: readonly number[];
  readonly states: Uint8Array | undefined;
  readonly identities: string;
  readonly previous: ReadonlyMap<number, Readonly<Record<string, unknown>>> | undefined;
}

/**
 * The rows of a range that are still to be run, in order, read ahead by one slice.
 *
 * Invariants
 *  1. At most two slices of about a megabyte are in memory, beside the rows in flight.
 *  2. On a resume, the journal of a row is loaded before the row is taken, and rows that are finished are not read at all
 *     before the first that is not.
 */
export class RowFeed {
  readonly #host: DatasetHost;
  readonly #frame: Frame;
  readonly #resumed: boolean;
  readonly #previous: PreviousCells | undefined;
  readonly #range: Range;
  #slices: AsyncGenerator<FrameSlice> | undefined;
  #ahead: Promise<Prepared | undefined> | undefined;
  #current: Prepared | undefined;
  #at = 0;

  constructor(
    host: DatasetHost,
    frame: Frame,
    options: { readonly range: Range; readonly resumed: boolean; readonly previous: PreviousCells | undefined },
  ) {
    this.#host = host;
    this.#frame = frame;
    this.#resumed = options.resumed;
    this.#previous = options.previous;
    this.#range = options.range;
  }

  /** The next row, or undefined where `fill` is to be awaited first. */
  take(): RowItem | undefined {
    const current = this.#current;
    const index = current?.rows[this.#at];
    if (current === undefined || index === undefined) return undefined;
    this.#at++;
    const { slice, states, identities, previous } = current;
    return {
      slice,
      index,
      ordinal: slice.first + index,
      identity: identities.slice(index * 2 * KEY_BYTES, (index + 1) * 2 * KEY_BYTES),
      bytes: slice.bytes(index),
      again: states !== undefined && states[index] === PARKED,
      previous: previous?.get(index),
    };
  }

  /** Brings the next rows; false at the end of the range. */
  async fill(): Promise<boolean> {
    const next = await (this.#ahead ?? this.#prepare());
    this.#current = next;
    this.#at = 0;
    this.#ahead = next === undefined ? undefined : this.#prepare();
    // A failure to read ahead is met when the rows are asked for.
    this.#ahead?.catch(() => {});
    return next !== undefined;
  }

  async close(): Promise<void> {
    await this.#ahead?.catch(() => {});
    await this.#slices?.return(undefined);
  }

  async #prepare(): Promise<Prepared | undefined> {
    this.#slices ??= frameSlices(this.#frame, { from: await this.#firstUnfinished(), to: this.#range.to });
    for (;;) {
      const { value: slice, done } = await this.#slices.next();
      if (done === true || slice === undefined) return undefined;
      const states = this.#resumed ? await this.#states(slice.first, slice.first + slice.length) : undefined;
      const rows: number[] = [];
      for (let index = 0; index < slice.length; index++)
        if (slice.repeats[index] === RUNS && !this.#isFinished(states?.[index])) rows.push(index);
      if (rows.length === 0) continue;
      if (this.#host.replay)
        await this.#host.prepareRows(
          this.#frame.record.datasetNo,
          rows.map((index) => slice.first + index),
        );
      const { keys } = slice;
      const identities = Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength).toString('hex');
      return { slice, rows, states, identities, previous: await this.#previous?.of(keys, rows) };
    }
  }

  #isFinished(state: number | undefined): boolean {
    return state === COMPLETED || (state === FAILED && this.#host.retryFailed !== true);
  }

  #states(from: number, to: number): Promise<Uint8Array> {
    return this.#frame.reads.rowStates(this.#frame.runNo, this.#frame.record.datasetNo, from, to);
  }

  async #firstUnfinished(): Promise<number> {
    const { from, to } = { from: this.#range.from, to: Math.min(this.#range.to, this.#frame.record.total) };
    if (!this.#resumed) return from;
    for (let block = from; block < to; block += STATES_ROWS) {
      const states = await this.#states(block, Math.min(to, block + STATES_ROWS));
      const first = states.findIndex((state) => !this.#isFinished(state));
      if (first !== -1) return block + first;
    }
    return to;
  }
}
