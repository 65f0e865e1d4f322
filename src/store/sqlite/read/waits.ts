import type { ReportReads } from '../../port.ts';
import type { WaitRecord } from '../../records.ts';
import { runStatus, waitState } from '../codes.ts';
import type { Reader } from '../reader.ts';
import { ordinalOf, spaceNoSql } from '../spaces.ts';
import { type WaitRow, waitRecord } from './wait-row.ts';

const AT_PLACE = 'SELECT * FROM waits WHERE place = ? ORDER BY no';
const OPEN = `state = ${waitState.number('open')}`;
const WORKED_ON = (['queued', 'running', 'waiting'] as const).map(runStatus.number).join(', ');
const OF_RUN = `SELECT no FROM waits WHERE ${OPEN} AND run_no = ? ORDER BY no LIMIT ?`;
const OF_ALL = `SELECT no FROM waits WHERE ${OPEN}
  AND run_no IN (SELECT no FROM runs WHERE status IN (${WORKED_ON})) ORDER BY no LIMIT ?`;
const WITH_PLACE = `SELECT w.*, s.dataset_no, r.id AS run_id
  FROM waits w JOIN spaces s ON s.no = ${spaceNoSql('w.place')} JOIN runs r ON r.no = w.run_no`;

/** The waits of the rows named, settled ones too; rows without any are not in the map. */
export function waits(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number; readonly ordinals: readonly number[] },
): Promise<ReadonlyMap<number, readonly WaitRecord[]>> {
  return reader.read(() => {
    const found = new Map<number, readonly WaitRecord[]>();
    const start = reader.spaces.start(of.runNo, of.datasetNo);
    if (start === undefined) return found;
    for (const ordinal of of.ordinals) {
      const rows = reader.db.all<WaitRow>(AT_PLACE, start + ordinal);
      if (rows.length > 0)
        found.set(
          ordinal,
          rows.map((row) => waitRecord(row, { datasetNo: of.datasetNo, ordinal })),
        );
    }
    return found;
  });
}

/** Open waits of one run, or of all that are not finished, in order of arming. */
export function waitsOfRuns(
  reader: Reader,
  filter: Parameters<ReportReads['waitsOfRuns']>[0],
): Promise<readonly (WaitRecord & { readonly runId: string })[]> {
  const { runNo, limit } = filter;
  const [numbers, values] = runNo === undefined ? [OF_ALL, [limit]] : [OF_RUN, [runNo, limit]];
  return reader.read(() =>
    reader.db
      .all<WaitRow & { dataset_no: number; run_id: string }>(
        `${WITH_PLACE} WHERE w.no IN (${numbers}) ORDER BY w.no`,
        ...values,
      )
      .map((row) => ({
        ...waitRecord(row, { datasetNo: row.dataset_no, ordinal: ordinalOf(row.place) }),
        runId: row.run_id,
      })),
  );
}
