import type { Instant, RunStatus } from '../../records.ts';
import type { WriteOf } from '../../write-of.ts';
import { runStatus } from '../codes.ts';
import type { Database } from '../driver.ts';

const FINISHED: readonly RunStatus[] = ['completed', 'failed', 'cancelled'];
const UPDATE = `UPDATE runs SET status = ?, finished_at = ?, error = ?, result = ?, wake_at = ?, owner = NULL, lease_until = NULL
  WHERE no = ?`;

const ANSWERED = 'SELECT 1 FROM waits WHERE run_no = ? AND signal_no > ? LIMIT 1';

/** Ends or pauses the attempt, and gives its lease back. */
export function setRunState(db: Database, write: WriteOf<'runState'>): void {
  const finishedAt = FINISHED.includes(write.status) ? write.at : null;
  db.run(
    UPDATE,
    runStatus.number(write.status),
    finishedAt,
    write.error,
    write.result,
    wakeAt(db, write),
    write.fence.runNo,
  );
}

/** At once where a signal has answered a wait that the attempt, while it was ending, did not know to be answered. */
function wakeAt(db: Database, write: WriteOf<'runState'>): Instant | null {
  if (write.status !== 'waiting' || write.seenSignal === undefined) return write.wakeAt;
  return db.get(ANSWERED, write.fence.runNo, write.seenSignal) === undefined ? write.wakeAt : write.at;
}
