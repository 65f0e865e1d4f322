import type { StoredReceipt } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { RECEIPT_COLUMNS, type ReceiptRow, storedReceipt } from './receipt-row.ts';

const AT_ONCE = 32;
const SELECT = `SELECT ${RECEIPT_COLUMNS} FROM receipts WHERE id IN (${Array(AT_ONCE).fill('?').join(',')})`;

export function receiptsByIds(reader: Reader, ids: readonly number[]): Promise<readonly (StoredReceipt | undefined)[]> {
  return reader.read(() => {
    const rows = receiptRows(reader, ids);
    return ids.map((id) => {
      const row = rows.get(id);
      return row === undefined ? undefined : storedReceipt(row, reader.origins);
    });
  });
}

/** The rows of these receipts that exist, by id. Synchronous: for use inside `reader.read`. */
export function receiptRows(reader: Reader, ids: readonly number[]): ReadonlyMap<number, ReceiptRow> {
  const rows = new Map<number, ReceiptRow>();
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const lot: (number | null)[] = ids.slice(at, at + AT_ONCE);
    while (lot.length < AT_ONCE) lot.push(null);
    for (const row of reader.db.tuples<ReceiptRow>(SELECT, ...lot)) rows.set(row[0], row);
  }
  return rows;
}
