import type { WriteInRun } from '../../records.ts';
import { operationState, outcome } from '../codes.ts';
import { inPieces, type Reader } from '../reader.ts';
import { ordinalOf } from '../spaces.ts';

interface WriteRow {
  readonly place: number;
  readonly call_id: string;
  readonly path: string;
  readonly label: string;
  readonly tool: string;
  readonly input_digest: string;
  readonly outcome: number | null;
  readonly state: number | null;
  readonly refusals: number | null;
}

/** The site of a write is never its call: those of reads are. */
const OPERATIONS = `SELECT o.place, o.call_id, o.path, o.label, o.tool, o.input_digest, calls.outcome, o.state, o.refusals
  FROM operations o LEFT JOIN calls ON calls.place = o.place AND calls.call_id = o.call_id
  WHERE o.place >= ? AND o.place < ? AND o.site <> o.call_id`;
/** A rerun that was answered by its source has no operation of its own. */
const ENTRIES = `SELECT c.place, c.call_id, s.path, s.label, s.tool, c.input_digest, c.outcome, NULL AS state, NULL AS refusals
  FROM calls c JOIN sites s ON s.no = c.site_no
  WHERE c.place >= ? AND c.place < ? AND s.effect = 'write' AND NOT EXISTS (
    SELECT 1 FROM operations WHERE operations.place = c.place AND operations.call_id = c.call_id)`;
const LAST = `SELECT max((SELECT coalesce(max(place), -1) FROM calls WHERE place >= ?1 AND place < ?2),
  (SELECT coalesce(max(place), -1) FROM operations WHERE place >= ?1 AND place < ?2)) AS place`;

/** By place and call. */
export async function writesOfRun(reader: Reader, runNo: number): Promise<readonly WriteInRun[]> {
  const found: WriteInRun[] = [];
  for (const { datasetNo, start, end } of await reader.read(() => reader.spaces.ofRun(runNo))) {
    const last = await reader.read(() => reader.db.get<{ place: number }>(LAST, start, end)?.place ?? -1);
    await inPieces(reader, { from: start, to: last + 1 }, (from, to) => {
      const rows = [OPERATIONS, ENTRIES].flatMap((sql) => reader.db.all<WriteRow>(sql, from, to));
      rows.sort((a, b) => a.place - b.place || (a.call_id < b.call_id ? -1 : 1));
      for (const row of rows) found.push(writeInRun(datasetNo, row));
    });
  }
  return found;
}

function writeInRun(datasetNo: number, row: WriteRow): WriteInRun {
  const { state, refusals } = row;
  return {
    callId: row.call_id,
    path: row.path,
    label: row.label,
    tool: row.tool,
    inputDigest: row.input_digest,
    place: { datasetNo, ordinal: ordinalOf(row.place) },
    answered: row.outcome !== null && outcome.name(row.outcome) !== 'failed',
    operation: state === null ? null : { state: operationState.name(state), refusals: refusals ?? 0 },
  };
}
