import type { Place } from '../../../scope/index.ts';
import type { BatchPlace, OperationRecord } from '../../records.ts';
import { operationState, outcome } from '../codes.ts';
import type { Reader } from '../reader.ts';
import { ordinalOf } from '../spaces.ts';

/** An operation as the table holds it. */
export interface OperationRow {
  readonly place: number;
  readonly call_id: string;
  /** 0 where a rerun was given it. */
  readonly attempt: number;
  readonly state: number;
  readonly tries: number;
  readonly refusals: number;
  readonly wait_until: number | null;
  readonly at: number;
  readonly site: string;
  readonly input_digest: string;
  readonly operation_key: string;
  readonly tool: string;
  readonly label: string;
  readonly path: string;
  readonly answer: string | null;
  readonly batch: string | null;
}

/** An answer in the journal is what became of the operation; a failure may be the doubt itself. */
export const NOT_JOURNALLED = `NOT EXISTS (SELECT 1 FROM calls
  WHERE calls.place = operations.place AND calls.call_id = operations.call_id
  AND calls.outcome <> ${outcome.number('failed')})`;
const AT_PLACE = 'SELECT * FROM operations WHERE place = ? ORDER BY call_id';
const IN_SPACE = `SELECT * FROM operations WHERE place >= ? AND place < ? AND ${NOT_JOURNALLED}
  ORDER BY place, at, call_id LIMIT ?`;

const OF_BATCH = 'SELECT * FROM operations WHERE run_no = ? AND operation_key = ? AND batch IS NOT NULL';

/** All operations of the rows named; rows without any are not in the map. */
export function operations(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number; readonly ordinals: readonly number[] },
): Promise<ReadonlyMap<number, readonly OperationRecord[]>> {
  return reader.read(() => {
    const found = new Map<number, readonly OperationRecord[]>();
    const start = reader.spaces.start(of.runNo, of.datasetNo);
    if (start === undefined) return found;
    for (const ordinal of of.ordinals) {
      const rows = reader.db.all<OperationRow>(AT_PLACE, start + ordinal);
      if (rows.length > 0) found.set(ordinal, rows.map(operationRecord));
    }
    return found;
  });
}

/** By dataset, ordinal and time. */
export function operationsOfRun(
  reader: Reader,
  runNo: number,
  limit: number,
): Promise<readonly (OperationRecord & { readonly place: Place })[]> {
  return reader.read(() => {
    const found: (OperationRecord & { readonly place: Place })[] = [];
    for (const { datasetNo, start, end } of reader.spaces.ofRun(runNo)) {
      if (found.length >= limit) break;
      for (const row of reader.db.all<OperationRow>(IN_SPACE, start, end, limit - found.length))
        found.push({ ...operationRecord(row), place: { datasetNo, ordinal: ordinalOf(row.place) } });
    }
    return found;
  });
}

/** In their order in the batch. */
export function operationsOfBatch(
  reader: Reader,
  runNo: number,
  operationKey: string,
): Promise<readonly (OperationRecord & { readonly place: Place })[]> {
  return reader.read(() => {
    const rows = reader.db.all<OperationRow>(OF_BATCH, runNo, operationKey);
    const found = reader.spaces
      .ofRun(runNo)
      .flatMap(({ datasetNo, start, end }) =>
        rows
          .filter(({ place }) => place >= start && place < end)
          .map((row) => ({ ...operationRecord(row), place: { datasetNo, ordinal: ordinalOf(row.place) } })),
      );
    return found.sort((a, b) => (a.batch?.index ?? 0) - (b.batch?.index ?? 0));
  });
}

export function operationRecord(row: OperationRow): OperationRecord {
  return {
    callId: row.call_id,
    site: row.site,
    path: row.path,
    label: row.label,
    tool: row.tool,
    inputDigest: row.input_digest,
    operationKey: row.operation_key,
    state: operationState.name(row.state),
    tries: row.tries,
    refusals: row.refusals,
    waitUntil: row.wait_until,
    answer: row.answer,
    batch: row.batch === null ? null : (JSON.parse(row.batch) as BatchPlace),
    at: row.at,
    ...(row.attempt === 0 && { isInherited: true }),
  };
}
