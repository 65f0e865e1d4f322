import type { RunRecord } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { type RunRow, runRecord } from './run-row.ts';

const TREE = `WITH RECURSIVE tree (id) AS (
    SELECT id FROM runs WHERE replayed_from = ?
    UNION SELECT runs.id FROM runs JOIN tree ON runs.replayed_from = tree.id
  )
  SELECT * FROM runs WHERE id IN (SELECT id FROM tree) ORDER BY no`;

/** Reruns of a run, and reruns of those, oldest first. */
export function rerunsOf(reader: Reader, runId: string): Promise<readonly RunRecord[]> {
  return reader.read(() => reader.db.all<RunRow>(TREE, runId).map(runRecord));
}
