import { runMissing, runNumberMissing, runStarted } from '../../conflicts.ts';
import type { WriteOf } from '../../write-of.ts';
import { operationState, outcome } from '../codes.ts';
import type { Database } from '../driver.ts';
import type { Space, Spaces } from '../spaces.ts';

const FRAMES = `INSERT OR REPLACE INTO frames (run_no, dataset_no, key, play_path, plan, sealed, total, admitted, at)
  SELECT ?, dataset_no, key, play_path, plan, sealed, total, admitted, at FROM frames WHERE run_no = ?`;
/** Each begins with the distance between the two spaces, and ends with the range of the source's places. */
const CHUNKS = `INSERT OR REPLACE INTO frame_chunks (place, row_count, keys, repeats)
  SELECT place + ?, row_count, keys, repeats FROM frame_chunks WHERE place >= ? AND place < ?`;
const SPOOL = `INSERT OR REPLACE INTO spool (place, row_count, rows)
  SELECT place + ?, row_count, rows FROM spool WHERE place >= ? AND place < ?`;
const CSV = `INSERT OR REPLACE INTO boundaries (place, key, kind, label, path, input_digest, state, value, at)
  SELECT place + ?, key, kind, label, path, input_digest, state, value, at FROM boundaries
  WHERE place >= ? AND place < ? AND kind = 'csv'`;
/** What they cost was paid by the source. */
const ROWS = `INSERT OR REPLACE INTO rows (place, state, credits, at, cells, error, trace)
  SELECT place + ?, state, 0, at, cells, error, trace FROM rows WHERE place >= ? AND place < ?`;
const ROWS_BUT = `${ROWS} AND place - ? NOT IN (SELECT value FROM json_each(?))`;
/**
 * Without what was not done, and without reads: a rerun asks them under keys of its own, or both would settle what is charged
 * once. Tries that ended failed are over, while a request that may have been done stays in doubt.
 */
const OPERATIONS = `INSERT OR REPLACE INTO operations (place, call_id, run_no, attempt, state, tries, refusals, wait_until,
    at, site, input_digest, operation_key, tool, label, path, answer, batch)
  SELECT place + ?, call_id, ?, 0, state, tries, refusals, wait_until,
    at, site, input_digest, operation_key, tool, label, path, answer, batch FROM operations
  WHERE place >= ? AND place < ? AND state <> ${operationState.number('notDone')}
    AND (state <> ${operationState.number('retrying')} OR site <> call_id)
    AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.place = operations.place AND calls.call_id = operations.call_id
      AND (calls.outcome <> ${outcome.number('failed')} OR operations.state = ${operationState.number('retrying')}))`;

/** Gives a run that had no attempt yet what a rerun begins with. Throws StoreConflict 'run-missing'. */
export function copyRun(db: Database, spaces: Spaces, write: WriteOf<'copyRun'>): void {
  const target = db.get<{ no: number; attempt: number }>('SELECT no, attempt FROM runs WHERE id = ?', write.toRunId);
  if (target === undefined) throw runMissing(write.toRunId);
  if (target.attempt > 0) throw runStarted(write.toRunId);
  if (db.get('SELECT no FROM runs WHERE no = ?', write.fromRunNo) === undefined)
    throw runNumberMissing(write.fromRunNo);
  db.run(FRAMES, target.no, write.fromRunNo);
  for (const space of spaces.ofRun(write.fromRunNo)) {
    const { start, end, datasetNo } = space;
    const by = spaces.place(target.no, datasetNo, 0) - start;
    for (const sql of [CHUNKS, SPOOL, CSV]) db.run(sql, by, start, end);
    db.run(OPERATIONS, by, target.no, start, end);
    copyRows(db, { space, by, again: write.again });
  }
}

function copyRows(
  db: Database,
  of: { readonly space: Space; readonly by: number; readonly again: WriteOf<'copyRun'>['again'] },
): void {
  const { start, end, datasetNo } = of.space;
  const lists = of.again.filter((again) => again.datasetNo === datasetNo).map((again) => again.ordinals);
  if (lists.includes('all')) return;
  const ordinals = lists.flatMap((list) => (list === 'all' ? [] : list));
  if (ordinals.length === 0) db.run(ROWS, of.by, start, end);
  else db.run(ROWS_BUT, of.by, start, end, start, JSON.stringify(ordinals));
}
