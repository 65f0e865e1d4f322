import { runMissing } from '../../conflicts.ts';
import { StoreConflict } from '../../port.ts';
import type { WriteOf } from '../../write-of.ts';
import { runStatus } from '../codes.ts';
import type { Database } from '../driver.ts';

const SELECT = 'SELECT no, attempt, owner, lease_until FROM runs WHERE id = ?';
// What a run was asked that ended before it could heed it is not asked of the next attempt.
const ENDED = `status IN (${runStatus.number('completed')}, ${runStatus.number('failed')})`;
const UPDATE = `UPDATE runs SET cancel_requested = CASE WHEN ${ENDED} THEN 0 ELSE cancel_requested END, attempt = ?, owner = ?, lease_until = ?, status = ?, started_at = coalesce(started_at, ?),
  finished_at = NULL, wake_at = NULL, error = NULL, result = NULL WHERE no = ?`;

/** Starts the next attempt. Throws StoreConflict 'lease' or 'run-missing'. */
export function takeLease(db: Database, write: WriteOf<'lease'>): void {
  const run = db.get<{ no: number; attempt: number; owner: string | null; lease_until: number | null }>(
    SELECT,
    write.runId,
  );
  if (run === undefined) throw runMissing(write.runId);
  if (write.attempt !== run.attempt + 1)
    throw new StoreConflict(
      'lease',
      `Run ${write.runId} is at attempt ${run.attempt}; attempt ${write.attempt} is not the next.`,
    );
  if (!write.takeOver && run.owner !== null && run.lease_until !== null && run.lease_until > write.now)
    throw new StoreConflict(
      'lease',
      `Run ${write.runId} is held by ${run.owner} until ${new Date(run.lease_until).toISOString()}.`,
    );
  db.run(UPDATE, write.attempt, write.owner, write.until, runStatus.number('running'), write.now, run.no);
}
