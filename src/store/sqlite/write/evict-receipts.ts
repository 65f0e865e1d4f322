import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';

/** Hides receipts from look-ups by key. Journals that name them go on reading them; the first instant stays. */
export function evictReceipts(db: Database, write: Pick<WriteOf<'evict'>, 'receiptIds' | 'at'>): void {
  for (const id of write.receiptIds)
    db.run('UPDATE receipts SET evicted_at = ? WHERE id = ? AND evicted_at IS NULL', write.at, id);
}
