import { operationMissing, runMissing } from '../../conflicts.ts';
import type { WriteOf } from '../../write-of.ts';
import { operationState } from '../codes.ts';
import type { Database } from '../driver.ts';
import { NOT_JOURNALLED } from '../read/operations.ts';
import { wakeRun } from './wake-run.ts';

const RESOLVE = `UPDATE operations SET state = ?, answer = ?, at = ? WHERE run_no = ? AND call_id = ?
  AND state IN (${operationState.number('intended')}, ${operationState.number('retrying')}) AND ${NOT_JOURNALLED}`;

/** Settles an operation in doubt, and wakes its run. Throws StoreConflict 'run-missing' or 'operation-missing'. */
export function resolveOperation(db: Database, write: WriteOf<'resolve'>): void {
  const run = db.get<{ no: number }>('SELECT no FROM runs WHERE id = ?', write.runId);
  if (run === undefined) throw runMissing(write.runId);
  const resolved = db.run(RESOLVE, operationState.number(write.as), write.answer, write.at, run.no, write.callId);
  if (resolved === 0) throw operationMissing(write.runId, write.callId);
  wakeRun(db, run.no, write.at);
}
