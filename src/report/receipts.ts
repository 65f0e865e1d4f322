import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import { type ReportReads, receiptName } from '../store/index.ts';
import type { ReportSource } from './reads.ts';
import { iso } from './run-json.ts';

type Receipt = Awaited<ReturnType<ReportReads['listReceipts']>>[number];

export interface ReceiptJson {
  readonly id: string;
  readonly tool: string;
  readonly version: string;
  readonly account: string;
  readonly key: string;
  readonly input: JsonValue;
  readonly at: string;
  readonly durationMs: number;
  readonly bytes: number;
  /** False for answers that no other call may have. */
  readonly reusable: boolean;
  readonly evictedAt: string | null;
}

export interface ReceiptsJson {
  readonly receipts: readonly ReceiptJson[];
  readonly nextCursor: string | null;
}

function receiptJson(receipt: Receipt): ReceiptJson {
  const { tool, version, account, key, durationMs, rawBytes: bytes, reusable } = receipt;
  return {
    id: receiptName(receipt.id),
    tool,
    version,
    account,
    key,
    input: JSON.parse(receipt.input) as JsonValue,
    at: iso(receipt.at) ?? '',
    durationMs,
    bytes,
    reusable,
    evictedAt: iso(receipt.evictedAt),
  };
}

/** `receipts list --json`. `before` is an instant in milliseconds. */
export async function receiptsList(
  source: ReportSource,
  asked: {
    readonly tool?: string | undefined;
    readonly before?: number | undefined;
    readonly limit: number;
    readonly cursor?: string | undefined;
  },
): Promise<ReceiptsJson> {
  const { tool, before, limit, cursor } = asked;
  const afterId = cursor === undefined ? undefined : receiptNumber(cursor);
  const found = await source.report.listReceipts({ tool, before, afterId, limit: limit + 1 });
  const shown = found.slice(0, limit).map(receiptJson);
  return { receipts: shown, nextCursor: found.length > limit ? (shown.at(-1)?.id ?? null) : null };
}

/** The number behind `rcp_12` or `12`. Throws RECEIPT_NOT_FOUND for what can be none. */
export function receiptNumber(name: string): number {
  const match = /^(?:rcp_)?(\d{1,15})$/.exec(name);
  if (match === null) throw notFound(name);
  return Number(match[1]);
}

/**
 * One receipt with its raw answer as JSON text, and the run that bought it. Where the provider answered several questions
 * together, `partOf` is the receipt of the whole, and `raw` says which part of it this one is. Throws RECEIPT_NOT_FOUND.
 */
export async function receiptById(
  source: ReportSource,
  name: string,
): Promise<{
  readonly receipt: ReceiptJson;
  readonly raw: string;
  readonly run: string | null;
  readonly partOf: string | null;
}> {
  const receipt = await source.report.receipt(receiptNumber(name));
  if (receipt === undefined) throw notFound(name);
  const raw = receipt.raw ?? (await source.calls.receiptRaw(receipt.id)) ?? 'null';
  const [run] = await source.report.listRuns({ limit: 1, beforeNo: receipt.runNo + 1 });
  const partOf = await wholeOf(source, raw);
  return { receipt: receiptJson(receipt), raw, run: run?.no === receipt.runNo ? run.id : null, partOf };
}

/** The receipt of the whole answer that this raw answer is a part of. */
async function wholeOf(source: ReportSource, raw: string): Promise<string | null> {
  if (!raw.startsWith('{"kind":"part",')) return null;
  const { whole: key } = JSON.parse(raw) as { readonly whole: string };
  const [whole] = await source.report.listReceipts({ key, limit: 1 });
  return whole === undefined ? null : receiptName(whole.id);
}

function notFound(name: string): CallsheetError {
  return new CallsheetError('RECEIPT_NOT_FOUND', `There is no receipt '${name}' in this workspace.`, {
    details: { receipt: name },
    next: ['callsheet receipts list'],
  });
}
