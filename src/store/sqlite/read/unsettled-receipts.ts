import type { StoredReceipt } from '../../records.ts';
import { source } from '../codes.ts';
import { endOf, inPieces, type Reader } from '../reader.ts';
import { receiptsByIds } from './receipts-by-ids.ts';

/** Ids come as one JSON text for thousands of rows, which is far quicker than a row each. */
const SETTLED = `SELECT json_group_array(receipt_id) AS ids FROM calls
  WHERE place >= ? AND place < ? AND source = ${source.number('live')} AND receipt_id >= ?`;
const BOUGHT = `SELECT json_group_array(id) AS ids FROM receipts
  WHERE id >= ? AND id < ? AND key <> call_id AND origin_no IN (SELECT no FROM origins WHERE run_no = ? AND tool NOT GLOB 'ctx.*'
    AND (receipts.evicted_at IS NULL OR (receipts.evicted_at <> receipts.at AND tool NOT GLOB '*:start')))`;

/**
 * Receipts that the run bought and no live entry of its journal names (nor those of provider jobs that have ended, which
 * are evicted then, nor those that were charged nothing, which are evicted from the first), without the answers that steps and fetches keep
 * (`ctx.step`, `ctx.fetch`) and without whole answers of batches, which are no calls: the entry of a call that shared the answer says
 * nothing about the one that paid. Reads the run's journal and all receipts since the
 * run was made, in pieces: no index is kept for what is asked once an attempt.
 */
export async function unsettledReceipts(reader: Reader, runNo: number): Promise<readonly StoredReceipt[]> {
  const range = await reader.read(() => ({
    first: reader.db.get<{ id: number }>('SELECT first_receipt_id AS id FROM runs WHERE no = ?', runNo)?.id ?? 1,
    end: (reader.db.get<{ id: number | null }>('SELECT max(id) AS id FROM receipts')?.id ?? 0) + 1,
  }));
  const settled = new Uint8Array(Math.max(0, Math.ceil((range.end - range.first) / 8)));
  for (const space of await reader.read(() => reader.spaces.ofRun(runNo))) {
    const to = await reader.read(() => endOf(reader, 'calls', { from: space.start, to: space.end }));
    await inPieces(reader, { from: space.start, to }, (from, end) => {
      for (const id of idsOf(reader, SETTLED, [from, end, range.first])) {
        const bit = id - range.first;
        settled[bit >> 3] = (settled[bit >> 3] ?? 0) | (1 << (bit & 7));
      }
    });
  }
  const unsettled: number[] = [];
  await inPieces(reader, { from: range.first, to: range.end }, (from, to) => {
    for (const id of idsOf(reader, BOUGHT, [from, to, runNo])) {
      const bit = id - range.first;
      if (((settled[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0) unsettled.push(id);
    }
  });
  return (await receiptsByIds(reader, unsettled)).filter((receipt) => receipt !== undefined);
}

function idsOf(reader: Reader, sql: string, values: readonly number[]): readonly number[] {
  return JSON.parse(reader.db.get<{ ids: string }>(sql, ...values)?.ids ?? '[]');
}
