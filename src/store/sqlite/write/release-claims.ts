import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

/** Gives up all keys that the run has claimed. */
export function releaseClaims(db: Database, write: WriteOf<'releaseClaims'>): void {
  db.run('DELETE FROM claims WHERE run_no = ?', write.fence.runNo);
}
