import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';
import { evictReceipts } from './evict-receipts.ts';

/** The first receipt that ends a job is its end. */
export function endJob(db: Database, write: WriteOf<'endJob'>): void {
  const { start, end, at } = write;
  const id = end.id ?? 0;
  db.run('INSERT OR IGNORE INTO job_ends VALUES (?, ?)', start, id);
  const first = db.get<{ id: number }>('SELECT end_id AS id FROM job_ends WHERE start_id = ?', start)?.id;
  write.isEndedBefore = first !== id;
  evictReceipts(db, { receiptIds: [start], at });
  if (write.isEndedBefore) db.run('UPDATE receipts SET evicted_at = at WHERE id = ?', id);
}
