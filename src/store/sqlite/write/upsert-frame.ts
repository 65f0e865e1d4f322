import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

const UPSERT = `INSERT OR REPLACE INTO frames (run_no, dataset_no, key, play_path, plan, sealed, total, admitted, at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function upsertFrame(db: Database, write: WriteOf<'frame'>): void {
  const { frame } = write;
  db.run(
    UPSERT,
    write.fence.runNo,
    frame.datasetNo,
    frame.key,
    frame.playPath,
    frame.plan,
    frame.sealed ? 1 : 0,
    frame.total,
    frame.admitted,
    frame.at,
  );
}
