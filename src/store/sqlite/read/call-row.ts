import type { CallEntry } from '../../records.ts';
import { outcome, source } from '../codes.ts';
import type { Sites } from '../sites.ts';

/** A journal entry as the table holds it. */
export interface CallRow {
  readonly place: number;
  readonly call_id: string;
  readonly site_no: number;
  readonly outcome: number;
  readonly source: number;
  readonly receipt_id: number | null;
  readonly credits: number;
  readonly duration_ms: number;
  readonly at: number;
  readonly input_digest: string;
  readonly error: string | null;
}

export const CALL_COLUMNS =
  'place, call_id, site_no, outcome, source, receipt_id, credits, duration_ms, at, input_digest, error';

export function callEntry(row: CallRow, sites: Sites): CallEntry {
  const site = sites.site(row.site_no);
  return {
    callId: row.call_id,
    path: site?.path ?? '',
    label: site?.label ?? '',
    tool: site?.tool ?? '',
    outcome: outcome.name(row.outcome),
    source: source.name(row.source),
    receiptId: row.receipt_id,
    credits: row.credits,
    durationMs: row.duration_ms,
    at: row.at,
    effect: site?.effect ?? 'write',
    toolDigest: site?.tool_digest ?? '',
    inputDigest: row.input_digest,
    error: row.error,
  };
}
