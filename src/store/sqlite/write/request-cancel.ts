import { runMissing } from '../../conflicts.ts';
import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

/** Throws StoreConflict 'run-missing'. */
export function requestCancel(db: Database, write: WriteOf<'cancel'>): void {
  if (db.run('UPDATE runs SET cancel_requested = 1 WHERE id = ?', write.runId) === 0) throw runMissing(write.runId);
}
