import type { Instant } from '../../records.ts';
import { runStatus } from '../codes.ts';
import type { Database } from '../driver.ts';

const WAKE = `UPDATE runs SET wake_at = min(coalesce(wake_at, ?), ?)
  WHERE no = ? AND status = ${runStatus.number('waiting')}`;

/** Makes a run that is waiting due at `at`, unless it is due earlier. */
export function wakeRun(db: Database, runNo: number, at: Instant): void {
  db.run(WAKE, at, at, runNo);
}
