import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';
import type { Spaces } from '../spaces.ts';

/** A control character that JSON text never holds, neither between tokens nor, unescaped, in a string (RFC 8259). */
export const ROW_SEPARATOR = '\u001e';
const UPSERT = 'INSERT OR REPLACE INTO spool (place, row_count, rows) VALUES (?, ?, ?)';

/** Keeps a chunk of source rows. A chunk from the same first row again replaces it. */
export function insertSpool(db: Database, spaces: Spaces, write: WriteOf<'spool'>): void {
  if (write.rows.length === 0) return;
  const place = spaces.place(write.fence.runNo, write.datasetNo, write.first);
  db.run(UPSERT, place, write.rows.length, write.rows.join(ROW_SEPARATOR));
}
