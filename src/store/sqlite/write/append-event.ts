import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

const APPEND = `INSERT INTO events (run_no, seq, at, type, level, dataset_no, ordinal, message, data)
  VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE run_no = ?), ?, ?, ?, ?, ?, ?, ?)`;

/** Appends an event under the run's next sequence number. */
export function appendEvent(db: Database, write: WriteOf<'event'>): void {
  const { runNo, event } = write;
  const { at, type, level, datasetNo, ordinal, message, data } = event;
  db.run(APPEND, runNo, runNo, at, type, level, datasetNo, ordinal, message, data);
}
