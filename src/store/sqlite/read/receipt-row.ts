import type { Instant, JsonText, StoredReceipt } from '../../port.ts';
import type { Origins } from '../origins.ts';

/** Raw answers up to this size come with grouped reads; larger ones are fetched singly. */
const INLINE_RAW_BYTES = 65_536;

/** A receipt as the tables hold it. */
export interface ReceiptRow {
  readonly id: number;
  readonly origin_no: number;
  readonly at: number;
  readonly duration_ms: number;
  readonly key: string;
  readonly call_id: string;
  readonly input_digest: string;
  readonly raw: string | null;
  readonly raw_bytes: number;
  readonly evicted_at: number | null;
}

export type ReceiptWithInput = StoredReceipt & { readonly input: JsonText; readonly evictedAt: Instant | null };

/** `octet_length` reads a length from the record's header, so large values are not loaded. */
export const RECEIPT_COLUMNS = `id, origin_no, at, duration_ms, key, call_id, input_digest, evicted_at,
  CASE WHEN octet_length(raw) <= ${INLINE_RAW_BYTES} THEN raw END AS raw,
  CASE WHEN raw IS NULL THEN (SELECT bytes FROM receipt_raws WHERE receipt_id = id) ELSE octet_length(raw) END AS raw_bytes`;

export function storedReceipt(row: ReceiptRow, origins: Origins): StoredReceipt {
  const origin = origins.origin(row.origin_no);
  return {
    id: row.id,
    key: row.key,
    tool: origin?.tool ?? '',
    version: origin?.version ?? '',
    toolDigest: origin?.tool_digest ?? '',
    account: origin?.account ?? '',
    inputDigest: row.input_digest,
    raw: row.raw ?? undefined,
    rawBytes: row.raw_bytes,
    at: row.at,
    durationMs: row.duration_ms,
    runNo: origin?.run_no ?? 0,
    callId: row.call_id,
    reusable: origin?.reusable === 1,
  };
}

export function receiptWithInput(row: ReceiptRow & { readonly input: string }, origins: Origins): ReceiptWithInput {
  return { ...storedReceipt(row, origins), input: row.input, evictedAt: row.evicted_at };
}
