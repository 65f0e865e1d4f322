import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

export function setRunArtifact(db: Database, write: WriteOf<'runArtifact'>): void {
  db.run('UPDATE runs SET artifact = ? WHERE no = ?', write.artifact, write.fence.runNo);
}
