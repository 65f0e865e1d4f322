import type { Instant, JsonText, StoredReceipt } from '../../records.ts';
import type { Origins } from '../origins.ts';

/** Raw answers up to this size come with grouped reads; larger ones are fetched singly. */
const INLINE_RAW_BYTES = 65_536;

/** RECEIPT_COLUMNS, and after them `input` where it is asked for. */
export type ReceiptRow = readonly [
  id: number,
  originNo: number,
  at: number,
  durationMs: number,
  key: string,
  callId: string,
  evictedAt: number | null,
  raw: string | null,
  rawBytes: number,
  input?: string,
];

export type ReceiptWithInput = StoredReceipt & { readonly input: JsonText; readonly evictedAt: Instant | null };

/** `octet_length` reads a length from the record's header, so large values are not loaded. */
export const RECEIPT_COLUMNS = `id, origin_no, at, duration_ms, key, call_id, evicted_at,
  CASE WHEN octet_length(raw) <= ${INLINE_RAW_BYTES} THEN raw END AS raw,
  CASE WHEN raw IS NULL THEN (SELECT bytes FROM receipt_raws WHERE receipt_id = id) ELSE octet_length(raw) END AS raw_bytes`;

export function storedReceipt(row: ReceiptRow, origins: Origins): StoredReceipt {
  const [id, originNo, at, durationMs, key, callId, evictedAt, raw, rawBytes] = row;
  const origin = origins.origin(originNo);
  return {
    id,
    key,
    tool: origin?.tool ?? '',
    version: origin?.version ?? '',
    toolDigest: origin?.tool_digest ?? '',
    account: origin?.account ?? '',
    raw: raw ?? undefined,
    rawBytes,
    at,
    durationMs,
    runNo: origin?.run_no ?? 0,
    callId,
    reusable: origin?.reusable === 1,
    ...(evictedAt === at && { isVoid: true }),
  };
}

export function receiptWithInput(row: ReceiptRow, origins: Origins): ReceiptWithInput {
  return { ...storedReceipt(row, origins), input: row[9] ?? '', evictedAt: row[6] };
}
