import type { Digest } from '../scope/index.ts';
import type { StoredReceipt } from '../store/index.ts';
import type { RawAnswer } from '../tool/index.ts';
import type { BatchPart } from './batch-answer.ts';

/** A stored answer in memory. `rawText` is parsed anew by each call, so that no two share an object. */
export interface Answer {
  readonly receiptId: number;
  readonly receiptKey: Digest;
  readonly rawText: string;
  /** The transport's own object, for the call that bought it. */
  readonly raw?: RawAnswer | undefined;
  /** Set where it is one of many that a provider gave together: `rawText` only says which. */
  readonly part?: BatchPart;
  readonly at: number;
  readonly durationMs: number;
  readonly callId: Digest;
}

export function answerOf(
  receipt: Pick<StoredReceipt, 'id' | 'key' | 'at' | 'durationMs' | 'callId'>,
  rawText: string,
): Answer {
  return {
    receiptId: receipt.id,
    receiptKey: receipt.key,
    rawText,
    at: receipt.at,
    durationMs: receipt.durationMs,
    callId: receipt.callId,
  };
}

/** What a call reads its answer from: an object of its own, but for the shared whole of a batch. */
export function rawOf(answer: Answer): RawAnswer | BatchPart {
  return answer.part ?? answer.raw ?? (JSON.parse(answer.rawText) as RawAnswer);
}
