import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

export function heartbeat(db: Database, write: WriteOf<'heartbeat'>): void {
  db.run('UPDATE runs SET lease_until = ? WHERE no = ?', write.until, write.fence.runNo);
}
