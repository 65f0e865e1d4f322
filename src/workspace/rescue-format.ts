import { createHash } from 'node:crypto';
import type { NewReceipt } from '../store/index.ts';

/** A paid answer outside the store. The run by its id: its number is the store's. */
export interface RescuedAnswer {
  readonly runId: string;
  readonly receipt: NewReceipt;
  /** Receipts of those who share the answer: they are stored with it, or not at all. */
  readonly parts?: readonly NewReceipt[];
}

/** Bytes before the first record: whose file it is. */
export const HEAD_BYTES = 64;
const HEAD = 'callsheet-rescue-1 ';
const MARK = Buffer.from('PAID');
const SUM_BYTES = 32;
const RECORD_HEAD = MARK.length + 4 + SUM_BYTES;

/** The head of a file that the holder of this word writes to. */
export function headOf(nonce: string): Buffer {
  return Buffer.from(`${HEAD}${nonce}`.padEnd(HEAD_BYTES - 1).concat('\n'));
}

/** The word in a file's head; undefined where it is none of ours. */
export function nonceIn(file: Buffer): string | undefined {
  const head = file.subarray(0, HEAD_BYTES).toString('latin1');
  return head.startsWith(HEAD) ? head.slice(HEAD.length).trim() : undefined;
}

/** Mark, length, checksum (SHA-256) and the answer as JSON. */
export function recordOf(answer: RescuedAnswer): Buffer {
  const body = Buffer.from(JSON.stringify(answer));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([MARK, length, createHash('sha256').update(body).digest(), body]);
}

/** The whole records of a file, and where the next one goes. What was cut off while it was written is no record. */
export function recordsIn(file: Buffer): { readonly answers: readonly RescuedAnswer[]; readonly end: number } {
  const answers: RescuedAnswer[] = [];
  let end = HEAD_BYTES;
  while (file.subarray(end, end + MARK.length).equals(MARK) && end + RECORD_HEAD <= file.length) {
    const from = end + RECORD_HEAD;
    const to = from + file.readUInt32BE(end + MARK.length);
    const body = file.subarray(from, to);
    const sum = file.subarray(from - SUM_BYTES, from);
    if (to > file.length || !createHash('sha256').update(body).digest().equals(sum)) break;
    answers.push(JSON.parse(body.toString()) as RescuedAnswer);
    end = to;
  }
  return { answers, end };
}
