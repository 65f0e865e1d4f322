import type { JsonText } from '../../records.ts';
import { inflateRaw } from '../large-raws.ts';
import type { Reader } from '../reader.ts';

const SELECT =
  'SELECT raw, (SELECT deflated FROM receipt_raws WHERE receipt_id = id) AS deflated FROM receipts WHERE id = ?';

export async function receiptRaw(reader: Reader, id: number): Promise<JsonText | undefined> {
  const row = await reader.read(() => reader.db.get<{ raw: string | null; deflated: Uint8Array | null }>(SELECT, id));
  if (row === undefined) return undefined;
  return row.deflated === null ? (row.raw ?? undefined) : inflateRaw(row.deflated);
}
