import type { DatasetReads, RowRecord } from '../store/index.ts';
import type { Range } from './frame-rows.ts';

/** Rows that lie within so many of one another are read in one go, with what is between them. */
const GAP = 16;
const READ_BYTES = 1_000_000;

export interface RecordsOf {
  readonly reads: DatasetReads;
  readonly runNo: number;
  readonly datasetNo: number;
}

/** The records of [from, to) that exist, in pieces of about a megabyte; each piece says up to which row it goes. */
export async function* recordRange(
  of: RecordsOf,
  range: Range,
): AsyncGenerator<{ readonly records: readonly RowRecord[]; readonly from: number; readonly to: number }> {
  for (let from = range.from; from < range.to; ) {
    const records = await of.reads.rows(of.runNo, of.datasetNo, { from, to: range.to, maxBytes: READ_BYTES });
    const last = records.at(-1);
    const to = last === undefined ? range.to : last.ordinal + 1;
    yield { records, from, to };
    from = to;
  }
}

/** The records of the rows named, in ascending order, that exist. Neighbours are read together. */
export async function recordsAt(of: RecordsOf, ordinals: readonly number[]): Promise<ReadonlyMap<number, RowRecord>> {
  const found = new Map<number, RowRecord>();
  for (let at = 0; at < ordinals.length; ) {
    let end = at + 1;
    while (end < ordinals.length && (ordinals[end] ?? 0) - (ordinals[end - 1] ?? 0) <= GAP) end++;
    const wanted = new Set(ordinals.slice(at, end));
    const range = { from: ordinals[at] ?? 0, to: (ordinals[end - 1] ?? 0) + 1 };
    for await (const { records } of recordRange(of, range))
      for (const record of records) if (wanted.has(record.ordinal)) found.set(record.ordinal, record);
    at = end;
  }
  return found;
}
