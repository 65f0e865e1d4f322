import type { DatasetReads } from '../store/index.ts';
import { KEY_BYTES } from './key-index.ts';
import { type FramePlan, readPlan } from './plan.ts';
import { readCells } from './record.ts';
import { recordsAt } from './row-records.ts';

const READ_ROWS = 65_536;

/**
 * The cells of a dataset's last run, found by row key.
 *
 * Owns: an index from key to row of that run: 16 bytes of key and some 6 of table a row.
 * Does not own: which run is the last one (the frame, which fixed it at admission).
 */
export class PreviousCells {
  readonly #reads: DatasetReads;
  readonly #of: NonNullable<FramePlan['previous']>;
  readonly #keys: Uint32Array;
  readonly #slots: Int32Array;
  readonly #columns: readonly string[];

  private constructor(
    reads: DatasetReads,
    of: NonNullable<FramePlan['previous']>,
    index: { readonly keys: Uint32Array; readonly slots: Int32Array; readonly columns: readonly string[] },
  ) {
    this.#reads = reads;
    this.#of = of;
    this.#keys = index.keys;
    this.#slots = index.slots;
    this.#columns = index.columns;
  }

  /** Undefined where that run is no longer in the store. */
  static async load(reads: DatasetReads, of: NonNullable<FramePlan['previous']>): Promise<PreviousCells | undefined> {
    const frame = (await reads.frames(of.runNo)).find((one) => one.datasetNo === of.datasetNo);
    if (frame === undefined) return undefined;
    const bytes = new Uint8Array(frame.total * KEY_BYTES);
    const slots = new Int32Array(2 ** Math.ceil(Math.log2(frame.total * 1.5 + 2)));
    const keys = new Uint32Array(bytes.buffer);
    const mask = slots.length - 1;
    for (let from = 0; from < frame.total; from += READ_ROWS) {
      const chunk = await reads.frameChunk(of.runNo, of.datasetNo, from, Math.min(frame.total, from + READ_ROWS));
      bytes.set(chunk.keys, from * KEY_BYTES);
      for (let row = 0; row < chunk.repeats.length; row++) {
        // Only rows that ran have cells.
        if ((chunk.repeats[row] ?? 0) >= 0) continue;
        let slot = (keys[(from + row) * 4] ?? 0) & mask;
        while (slots[slot] !== 0) slot = (slot + 1) & mask;
        slots[slot] = from + row + 1;
      }
    }
    return new PreviousCells(reads, of, { keys, slots, columns: readPlan(frame).columns.map(({ name }) => name) });
  }

  /** For each of these rows of a piece of keys, its cells by column name, where the last run has them. */
  async of(keys: Uint8Array, rows: readonly number[]): Promise<ReadonlyMap<number, Readonly<Record<string, unknown>>>> {
    const ordinals = new Map<number, number>();
    for (const row of rows) {
      const ordinal = this.#find(keys, row);
      if (ordinal !== undefined) ordinals.set(ordinal, row);
    }
    const sorted = [...ordinals.keys()].sort((left, right) => left - right);
    const records = await recordsAt({ reads: this.#reads, ...this.#of }, sorted);
    const cells = new Map<number, Readonly<Record<string, unknown>>>();
    for (const [ordinal, record] of records) {
      const row = ordinals.get(ordinal);
      if (row === undefined) continue;
      const values: Record<string, unknown> = {};
      readCells(record).forEach((value, column) => {
        const name = this.#columns[column];
        if (name !== undefined) values[name] = value;
      });
      cells.set(row, values);
    }
    return cells;
  }

  #find(keys: Uint8Array, row: number): number | undefined {
    const words = new Uint32Array(Uint8Array.from(keys.subarray(row * KEY_BYTES, (row + 1) * KEY_BYTES)).buffer);
    const mask = this.#slots.length - 1;
    for (let slot = (words[0] ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const taken = this.#slots[slot] ?? 0;
      if (taken === 0) return undefined;
      const at = (taken - 1) * 4;
      if (words.every((word, index) => this.#keys[at + index] === word)) return taken - 1;
    }
  }
}
