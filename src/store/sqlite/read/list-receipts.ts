import type { ReceiptFilter } from '../../port.ts';
import type { SqlValue } from '../driver.ts';
import type { Reader } from '../reader.ts';
import { RECEIPT_COLUMNS, type ReceiptRow, type ReceiptWithInput, receiptWithInput } from './receipt-row.ts';

const SELECT = `SELECT ${RECEIPT_COLUMNS}, input FROM receipts WHERE id > ?`;
const OF_KEY = ' AND id IN (SELECT value FROM json_each(?)) AND key = ?';
const OF_TOOL = ' AND origin_no IN (SELECT no FROM origins WHERE tool = ?)';
const ONE = `SELECT ${RECEIPT_COLUMNS}, input FROM receipts WHERE id = ?`;

/** Receipts that fit the filter, by id. */
export async function listReceipts(reader: Reader, filter: ReceiptFilter): Promise<readonly ReceiptWithInput[]> {
  if (filter.key !== undefined) await reader.index.catchUp();
  return reader.read(() => {
    let sql = SELECT;
    const values: SqlValue[] = [filter.afterId ?? 0];
    if (filter.key !== undefined) {
      sql += OF_KEY;
      values.push(JSON.stringify(reader.index.candidates([filter.key])[0] ?? []), filter.key);
    }
    if (filter.tool !== undefined) {
      sql += OF_TOOL;
      values.push(filter.tool);
    }
    if (filter.before !== undefined) {
      sql += ' AND at < ?';
      values.push(filter.before);
    }
    values.push(filter.limit);
    return reader.db
      .tuples<ReceiptRow>(`${sql} ORDER BY id LIMIT ?`, ...values)
      .map((row) => receiptWithInput(row, reader.origins));
  });
}

export function receipt(reader: Reader, id: number): Promise<ReceiptWithInput | undefined> {
  return reader.read(() => {
    const [row] = reader.db.tuples<ReceiptRow>(ONE, id);
    return row === undefined ? undefined : receiptWithInput(row, reader.origins);
  });
}
