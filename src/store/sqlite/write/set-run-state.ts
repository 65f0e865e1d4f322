import type { RunStatus } from '../../port.ts';
import type { WriteOf } from '../../write-of.ts';
import { runStatus } from '../codes.ts';
import type { Database } from '../driver.ts';

const FINISHED: readonly RunStatus[] = ['completed', 'failed', 'cancelled'];
const UPDATE = `UPDATE runs SET status = ?, finished_at = ?, error = ?, result = ?, wake_at = ?, owner = NULL, lease_until = NULL
  WHERE no = ?`;

/** Ends or pauses the attempt, and gives its lease back. */
export function setRunState(db: Database, write: WriteOf<'runState'>): void {
  const finishedAt = FINISHED.includes(write.status) ? write.at : null;
  db.run(
    UPDATE,
    runStatus.number(write.status),
    finishedAt,
    write.error,
    write.result,
    write.wakeAt,
    write.fence.runNo,
  );
}
