import type { RowRecord } from '../../records.ts';
import { rowState } from '../codes.ts';
import type { Reader } from '../reader.ts';
import { ordinalOf } from '../spaces.ts';

type RowTuple = readonly [
  place: number,
  state: number,
  credits: number,
  at: number,
  cells: string,
  error: string | null,
  trace: string | null,
];

const ROWS_AT_ONCE = 1_000;
const COLUMNS = 'place, state, credits, at, cells, error, trace';
/** Lengths come from the records' headers: nothing large is loaded before it is known to fit. */
const SIZES = `SELECT place, octet_length(cells) + coalesce(octet_length(error), 0) + coalesce(octet_length(trace), 0) AS bytes
  FROM rows WHERE place >= ? AND place < ? ORDER BY place LIMIT ${ROWS_AT_ONCE}`;
const RANGE = `SELECT ${COLUMNS} FROM rows WHERE place >= ? AND place <= ? ORDER BY place`;
const FAILED = `SELECT ${COLUMNS} FROM rows WHERE place > ? AND place < ? AND state = ${rowState.number('failed')} ORDER BY place LIMIT ?`;

/** Records of rows [from, to) in order, as many as fit into `maxBytes` (at least one) and at most a thousand. */
export function rows(
  reader: Reader,
  of: {
    readonly runNo: number;
    readonly datasetNo: number;
    readonly from: number;
    readonly to: number;
    readonly maxBytes: number;
  },
): Promise<readonly RowRecord[]> {
  return reader.read(() => {
    const start = reader.spaces.start(of.runNo, of.datasetNo);
    if (start === undefined) return [];
    const sizes = reader.db.tuples<[number, number]>(SIZES, start + of.from, start + of.to);
    let bytes = 0;
    let last: number | undefined;
    for (const [place, size] of sizes) {
      bytes += size;
      if (last !== undefined && bytes > of.maxBytes) break;
      last = place;
    }
    return last === undefined ? [] : reader.db.tuples<RowTuple>(RANGE, start + of.from, last).map(rowRecord);
  });
}

/** Failed rows after an ordinal, in order. */
export function failedRows(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number; readonly afterOrdinal: number; readonly limit: number },
): Promise<readonly RowRecord[]> {
  return reader.read(() => {
    const space = reader.spaces.ofRun(of.runNo).find((candidate) => candidate.datasetNo === of.datasetNo);
    if (space === undefined) return [];
    return reader.db.tuples<RowTuple>(FAILED, space.start + of.afterOrdinal, space.end, of.limit).map(rowRecord);
  });
}

function rowRecord([place, state, credits, at, cells, error, trace]: RowTuple): RowRecord {
  return { ordinal: ordinalOf(place), state: rowState.name(state), cells, error, trace, credits, at };
}
