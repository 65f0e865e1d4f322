import type { Place } from '../../../scope/index.ts';
import type { CallEntry } from '../../records.ts';
import { outcome } from '../codes.ts';
import { endOf, inPieces, type Reader } from '../reader.ts';
import { ordinalOf } from '../spaces.ts';
import { CALL_COLUMNS, type CallRow, callEntry } from './call-row.ts';

const FAILED = `SELECT ${CALL_COLUMNS} FROM calls WHERE place >= ? AND place < ? AND outcome = ${outcome.number('failed')}
  ORDER BY place, at, call_id LIMIT ?`;

/** Failed calls of a run by dataset and ordinal. */
export async function failedCalls(
  reader: Reader,
  runNo: number,
  limit: number,
): Promise<readonly (CallEntry & { readonly place: Place })[]> {
  const found: (CallEntry & { readonly place: Place })[] = [];
  for (const { datasetNo, start, end } of await reader.read(() => reader.spaces.ofRun(runNo))) {
    const to = await reader.read(() => endOf(reader, 'calls', { from: start, to: end }));
    await inPieces(reader, { from: start, to }, (from, until) => {
      if (found.length >= limit) return;
      for (const row of reader.db.all<CallRow>(FAILED, from, until, limit - found.length))
        found.push({ ...callEntry(row, reader.sites), place: { datasetNo, ordinal: ordinalOf(row.place) } });
    });
  }
  return found;
}
