import type { RowRecord } from '../../port.ts';
import { rowState } from '../codes.ts';
import type { Reader } from '../reader.ts';
import { ordinalOf } from '../spaces.ts';

interface RowRow {
  readonly place: number;
  readonly state: number;
  readonly credits: number;
  readonly at: number;
  readonly cells: string;
  readonly error: string | null;
  readonly trace: string | null;
}

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
    const sizes = reader.db.all<{ place: number; bytes: number }>(SIZES, start + of.from, start + of.to);
    let bytes = 0;
    let last: number | undefined;
    for (const row of sizes) {
      bytes += row.bytes;
      if (last !== undefined && bytes > of.maxBytes) break;
      last = row.place;
    }
    return last === undefined ? [] : reader.db.all<RowRow>(RANGE, start + of.from, last).map(rowRecord);
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
    return reader.db.all<RowRow>(FAILED, space.start + of.afterOrdinal, space.end, of.limit).map(rowRecord);
  });
}

function rowRecord(row: RowRow): RowRecord {
  return {
    ordinal: ordinalOf(row.place),
    state: rowState.name(row.state),
    cells: row.cells,
    error: row.error,
    trace: row.trace,
    credits: row.credits,
    at: row.at,
  };
}
