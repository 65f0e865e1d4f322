import type { Beginning, Beginnings } from './beginning.ts';
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
/** So many of those that go first are read at once. */
const FIRST_ROWS = 256;

interface Prepared {
  readonly slice: FrameSlice;
  /** Places within the slice of the rows that are to run. */
  readonly rows: readonly number[];
  readonly states: Uint8Array | undefined;
  readonly identities: string;
  readonly previous: ReadonlyMap<number, Readonly<Record<string, unknown>>> | undefined;
  readonly beginnings: ReadonlyMap<number, Beginning> | undefined;
}

/**
 * The rows of a range that are still to be run, in order but for those that go first, read ahead by one slice.
 *
 * Invariants
 *  1. At most two slices of about a megabyte are in memory, beside the rows in flight.
 *  2. On a resume, the journal of a row is loaded before the row is taken, and rows that are finished are not read at all
 *     before the first that is not.
 *  3. A row that is parked and waits for nothing that has happened is not run; `wake` brings it back, once a call.
 */
export class RowFeed {
  readonly #host: DatasetHost;
  readonly #frame: Frame;
  readonly #resumed: boolean;
  readonly #previous: PreviousCells | undefined;
  readonly #beginnings: Beginnings | undefined;
  readonly #range: Range;
  readonly #leftParked: (ordinal: number) => void;
  #slices: AsyncGenerator<FrameSlice> | undefined;
  #ahead: Promise<Prepared | undefined> | undefined;
  #current: Prepared | undefined;
  #at = 0;
  /** Parked rows that are to be run again, before any other. */
  #woken: number[] = [];
  #again: RowItem[] = [];
  #ended = false;
  /** Rows that go first, and are left out when their turn comes. */
  readonly #first: ReadonlySet<number>;
  readonly #firstLeft: number[];

  constructor(
    host: DatasetHost,
    frame: Frame,
    options: {
      readonly range: Range;
      readonly resumed: boolean;
      readonly previous: PreviousCells | undefined;
      readonly beginnings: Beginnings | undefined;
      /** Told of each row that an earlier attempt has parked and that still waits. */
      readonly leftParked: (ordinal: number) => void;
    },
  ) {
    this.#host = host;
    this.#frame = frame;
    this.#resumed = options.resumed;
    this.#previous = options.previous;
    this.#beginnings = options.beginnings;
    this.#range = options.range;
    this.#leftParked = options.leftParked;
    const { from, to } = options.range;
    const first = options.resumed ? (host.firstRows?.(frame.record.datasetNo) ?? []) : [];
    this.#firstLeft = [...new Set(first)].filter((ordinal) => ordinal >= from && ordinal < to).sort((a, b) => a - b);
    this.#first = new Set(this.#firstLeft);
  }

  /** Brings a parked row back. */
  wake(ordinal: number): void {
    this.#woken.push(ordinal);
  }

  /** The next row, or undefined where `fill` is to be awaited first. */
  take(): RowItem | undefined {
    if (this.#again.length > 0) return this.#again.shift();
    if (this.#woken.length > 0) return undefined;
    const current = this.#current;
    const index = current?.rows[this.#at];
    if (current === undefined || index === undefined) return undefined;
    this.#at++;
    const { slice, states, identities, previous, beginnings } = current;
    const ordinal = slice.first + index;
    return {
      slice,
      index,
      ordinal,
      identity: identities.slice(index * 2 * KEY_BYTES, (index + 1) * 2 * KEY_BYTES),
      bytes: slice.bytes(index),
      again: states !== undefined && states[index] === PARKED,
      previous: previous?.get(index),
      beginning: beginnings?.get(ordinal),
    };
  }

  /** Brings the next rows; false where there are none, at the end of the range or before a further one wakes. */
  async fill(): Promise<boolean> {
    if (this.#woken.length > 0) {
      await this.#fillAgain(this.#woken.splice(0).map((ordinal) => ({ ordinal, again: true })));
      return true;
    }
    while (this.#firstLeft.length > 0) if (await this.#fillFirst()) return true;
    const current = this.#current;
    if (current !== undefined && this.#at < current.rows.length) return true;
    if (this.#ended) return false;
    const next = await (this.#ahead ?? this.#prepare());
    this.#current = next;
    this.#at = 0;
    this.#ahead = next === undefined ? undefined : this.#prepare();
    // A failure to read ahead is met when the rows are asked for.
    this.#ahead?.catch(() => {});
    this.#ended = next === undefined;
    return next !== undefined;
  }

  /** Some of the rows that go first; false where none of them is to run. */
  async #fillFirst(): Promise<boolean> {
    const ordinals = this.#firstLeft.splice(0, FIRST_ROWS);
    const left: { ordinal: number; again: boolean }[] = [];
    const parked: number[] = [];
    for (const ordinal of ordinals) {
      const [state] = await this.#states(ordinal, ordinal + 1);
      if (state === PARKED) parked.push(ordinal);
      if (!this.#isFinished(state)) left.push({ ordinal, again: state === PARKED });
    }
    const waiting = parked.length === 0 ? undefined : await this.#waitingOf(parked);
    await this.#fillAgain(left.filter(({ ordinal }) => waiting?.has(ordinal) !== true));
    return this.#again.length > 0;
  }

  async #fillAgain(rows: readonly { readonly ordinal: number; readonly again: boolean }[]): Promise<void> {
    const { datasetNo } = this.#frame.record;
    const ordinals = rows.map(({ ordinal }) => ordinal);
    if (ordinals.length > 0) await this.#host.prepareRows(datasetNo, ordinals);
    for (const { ordinal, again } of rows) {
      for await (const slice of frameSlices(this.#frame, { from: ordinal, to: ordinal + 1 })) {
        if (slice.repeats[0] !== RUNS) continue;
        const previous = await this.#previous?.of(slice.keys, [0]);
        this.#again.push({
          ...{ slice, index: 0, ordinal, again },
          identity: identitiesOf(slice),
          bytes: slice.bytes(0),
          previous: previous?.get(0),
          beginning: (await this.#beginnings?.of([ordinal]))?.get(ordinal),
        });
      }
    }
  }

  /** Those of these parked rows that still wait. */
  async #waitingOf(parked: readonly number[]): Promise<ReadonlySet<number> | undefined> {
    const waiting = await this.#host.waiting.still?.(this.#frame.record.datasetNo, parked);
    for (const ordinal of waiting ?? []) this.#leftParked(ordinal);
    return waiting;
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
      let rows: number[] = [];
      for (let index = 0; index < slice.length; index++)
        if (
          slice.repeats[index] === RUNS &&
          !this.#isFinished(states?.[index]) &&
          !this.#first.has(slice.first + index)
        )
          rows.push(index);
      if (rows.length > 0 && this.#host.replay) rows = await this.#prepared(slice, rows, states);
      if (rows.length === 0) continue;
      const ordinals = this.#beginnings === undefined ? [] : rows.map((index) => slice.first + index);
      return {
        slice,
        rows,
        states,
        identities: identitiesOf(slice),
        previous: await this.#previous?.of(slice.keys, rows),
        beginnings: await this.#beginnings?.of(ordinals),
      };
    }
  }

  /** Loads what earlier attempts recorded of these rows, and leaves out those that still wait. */
  async #prepared(slice: FrameSlice, rows: readonly number[], states: Uint8Array | undefined): Promise<number[]> {
    const { datasetNo } = this.#frame.record;
    const parked = rows.filter((index) => states?.[index] === PARKED).map((index) => slice.first + index);
    const waiting = parked.length === 0 ? undefined : await this.#waitingOf(parked);
    const left = waiting === undefined ? [...rows] : rows.filter((index) => !waiting.has(slice.first + index));
    if (left.length > 0)
      await this.#host.prepareRows(
        datasetNo,
        left.map((index) => slice.first + index),
      );
    return left;
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

function identitiesOf({ keys }: FrameSlice): string {
  return Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength).toString('hex');
}
