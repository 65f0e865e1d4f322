import type { RunRecord } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { type RunRow, runRecord } from './run-row.ts';

/** By which run they were started, or of which they are a rerun. */
type Origin = 'parent_run_id' | 'replayed_from';

const treeBy = (origin: Origin): string => `WITH RECURSIVE tree (id) AS (
    SELECT id FROM runs WHERE ${origin} = ?
    UNION SELECT runs.id FROM runs JOIN tree ON runs.${origin} = tree.id
  )
  SELECT * FROM runs WHERE id IN (SELECT id FROM tree) ORDER BY no`;

const TREES: Readonly<Record<Origin, string>> = {
  parent_run_id: treeBy('parent_run_id'),
  replayed_from: treeBy('replayed_from'),
};

/** Runs that come from this one, and those that come from them, oldest first. */
export function runTree(reader: Reader, origin: Origin, runId: string): Promise<readonly RunRecord[]> {
  return reader.read(() => reader.db.all<RunRow>(TREES[origin], runId).map(runRecord));
}
