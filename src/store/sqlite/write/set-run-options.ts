import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

export function setRunOptions(db: Database, write: WriteOf<'runOptions'>): void {
  db.run('UPDATE runs SET options = ? WHERE no = ?', write.options, write.fence.runNo);
}
