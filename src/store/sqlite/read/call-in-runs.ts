import type { Digest, Place } from '../../../scope/index.ts';
import type { CallInRun } from '../../records.ts';
import { outcome } from '../codes.ts';
import type { Reader } from '../reader.ts';
import { type OperationRow, operationRecord } from './operations.ts';

const ENTRY = 'SELECT outcome FROM calls WHERE place = ? AND call_id = ?';
const OPERATION = 'SELECT * FROM operations WHERE place = ? AND call_id = ?';

interface Asked {
  readonly runNos: readonly number[];
  readonly place: Place;
  readonly callId: Digest;
}

/** How a call stands in each of the runs that has a record of it. */
export function callInRuns(reader: Reader, of: Asked): Promise<readonly CallInRun[]> {
  return reader.read(() => standing(reader, of));
}

/** The same, within whatever is open. */
export function standing(
  { db, spaces }: Pick<Reader, 'db' | 'spaces'>,
  { runNos, place, callId }: Asked,
): readonly CallInRun[] {
  const found: CallInRun[] = [];
  for (const runNo of runNos) {
    const start = spaces.start(runNo, place.datasetNo);
    if (start === undefined) continue;
    const entry = db.get<{ outcome: number }>(ENTRY, start + place.ordinal, callId);
    const row = db.get<OperationRow & { attempt: number }>(OPERATION, start + place.ordinal, callId);
    if (entry === undefined && row === undefined) continue;
    found.push({
      runNo,
      answered: entry !== undefined && outcome.name(entry.outcome) !== 'failed',
      operation: row === undefined ? null : operationRecord(row),
      inherited: row?.attempt === 0,
    });
  }
  return found;
}
