import type { CallEntry } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { CALL_COLUMNS, type CallRow, callEntry } from './call-row.ts';

const SELECT = `SELECT ${CALL_COLUMNS} FROM calls WHERE place = ?`;

/** The entries of the rows named; rows without any are not in the map. */
export function journal(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number; readonly ordinals: readonly number[] },
): Promise<ReadonlyMap<number, readonly CallEntry[]>> {
  return reader.read(() => {
    const entries = new Map<number, readonly CallEntry[]>();
    const start = reader.spaces.start(of.runNo, of.datasetNo);
    if (start === undefined) return entries;
    for (const ordinal of of.ordinals) {
      const rows = reader.db.all<CallRow>(SELECT, start + ordinal);
      if (rows.length > 0)
        entries.set(
          ordinal,
          rows.map((row) => callEntry(row, reader.sites)),
        );
    }
    return entries;
  });
}
