import type { RunRecord } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { type RunRow, runRecord } from './run-row.ts';

const TREE = `WITH RECURSIVE tree (id) AS (
    SELECT id FROM runs WHERE parent_run_id = ?
    UNION SELECT runs.id FROM runs JOIN tree ON runs.parent_run_id = tree.id
  )
  SELECT * FROM runs WHERE id IN (SELECT id FROM tree) ORDER BY no`;

/** Runs that this one started, and those that they did, oldest first. */
export function childRuns(reader: Reader, runId: string): Promise<readonly RunRecord[]> {
  return reader.read(() => reader.db.all<RunRow>(TREE, runId).map(runRecord));
}
