import { type CallsheetError, RunFatalError } from '../sdk/index.ts';
import type { CallEntry, OperationRecord, Write } from '../store/index.ts';
import type { CatalogueTool, RawAnswer } from '../tool/index.ts';
import type { Answer } from './answer.ts';
import type { CallRun } from './env.ts';
import { freezeError } from './failure.ts';
import type { Bill } from './open-tries.ts';
import type { Question } from './question.ts';

export type ReceiptWrite = Extract<Write, { kind: 'receipt' }>;

/** What makes a bought answer durable. Nothing of the tool author's runs before it is. */
export function receiptWrite(
  run: CallRun,
  question: Question,
  bought: { readonly raw: RawAnswer; readonly durationMs: number },
): ReceiptWrite {
  const { tool } = question;
  return {
    kind: 'receipt',
    id: 0,
    receipt: {
      key: question.receiptKey,
      tool: tool.id,
      version: tool.version,
      toolDigest: tool.digest,
      account: tool.account.key,
      input: question.inputText,
      raw: JSON.stringify(bought.raw),
      at: run.process.clock.now(),
      durationMs: Math.round(bought.durationMs),
      runNo: run.runNo,
      callId: question.callId,
      reusable: question.effect !== 'write' && tool.reuseScope !== 'never',
    },
  };
}

/** An answer whose receipt is durable, with the transport's own object. */
export function boughtAnswer({ id = 0, receipt }: ReceiptWrite, raw: RawAnswer): Answer {
  const { key, at, durationMs, callId } = receipt;
  return { receiptId: id, receiptKey: key, rawText: receipt.raw, raw, at, durationMs, callId };
}

/**
 * Resolves once a paid answer is durable. Where the store can't take it, it is rescued and the run ends.
 *
 * @param unit the answer, and what is written with it or not at all
 */
export async function keepAnswer(
  run: CallRun,
  question: Question,
  unit: readonly [ReceiptWrite, ...Write[]],
): Promise<void> {
  const { clock, committer } = run.process;
  const began = clock.monotonic();
  try {
    await committer.commit(unit);
    run.timed(question.tool.id, 'record', clock.monotonic() - began);
  } catch (error) {
    const kept = run.process.rescue.save(run.runId, unit[0].receipt);
    throw unrecorded(run, { ...question, said: `Call '${question.label}'` }, { error, kept });
  }
}

/** The answer is paid and could not be stored: ends the run, so that nothing more is bought. */
export function unrecorded(
  run: CallRun,
  of: { readonly said: string; readonly tool: CatalogueTool; readonly callId: string },
  { error, kept }: { error: unknown; kept: string },
): RunFatalError {
  const { code, message, next } = error as CallsheetError;
  const fatal = new RunFatalError(
    code ?? 'STORE_FAILED',
    `${of.said} of ${of.tool.id} was answered, but the answer could not be stored: ${message} It is kept ${kept}. No further call goes out.`,
    { details: { tool: of.tool.id, callId: of.callId, kept }, next: next ?? [], cause: error },
  );
  run.process.persistence.open(fatal.message);
  run.raiseFatal(fatal);
  return fatal;
}

export interface Ended {
  readonly outcome: CallEntry['outcome'];
  readonly source: CallEntry['source'];
  readonly receiptId: number | null;
  readonly credits: number;
  readonly durationMs: number;
  readonly at: number;
  readonly error: CallsheetError | null;
}

/** The journal entry of a call that ended. */
function entryOf(question: Question, ended: Ended): CallEntry {
  return {
    callId: question.callId,
    path: question.scope.path,
    label: question.label,
    tool: question.tool.id,
    outcome: ended.outcome,
    source: ended.source,
    receiptId: ended.receiptId,
    credits: ended.credits,
    durationMs: ended.durationMs,
    at: ended.at,
    effect: question.effect,
    toolDigest: question.tool.digest,
    inputDigest: question.inputDigest,
    error: ended.error === null ? null : freezeError(ended.error),
  };
}

/** How a call ended that is answered. */
export interface Answered extends Ended {
  /** Settled once the entry is durable: what a limit counts as settled, the journal says. */
  readonly bill: Bill | undefined;
}

/**
 * Journals an answer, and tells what of it this run has to settle. Its receipt is already durable, so that nothing waits for the
 * entry, unless another run of the family may have paid for the same write: what it costs the store tells then.
 */
export function journalAnswer(
  run: CallRun,
  question: Question,
  { bill, ...ended }: Answered,
): number | Promise<number> {
  const write = entryWrite(run, question, ended);
  if (write.family !== undefined) return journalPaidOnce(run, question, { write, bill, ended });
  run.process.committer.defer([write], (error) => {
    if (error === undefined) return bill?.charge(ended.credits);
    bill?.leave();
    stopIfOvertaken(run, error);
  });
  settle(run, question, ended);
  return ended.credits;
}

async function journalPaidOnce(
  run: CallRun,
  question: Question,
  { write, bill, ended }: { readonly write: CallWrite; readonly bill: Bill | undefined; readonly ended: Ended },
): Promise<number> {
  try {
    const credits = await commitEntry(run, write);
    bill?.charge(credits);
    settle(run, question, { ...ended, credits });
    return credits;
  } catch (error) {
    bill?.leave();
    throw error;
  }
}

type CallWrite = Extract<Write, { kind: 'call' }>;

/** What several runs of a family have written under one key is charged once. */
function entryWrite(run: CallRun, question: Question, ended: Ended): CallWrite {
  const { site, tool, scope } = question;
  const isKeyedWrite = site !== undefined && tool.sendsIdempotencyKey;
  const family = isKeyedWrite && ended.source === 'live' && ended.credits > 0 ? run.relatives?.root : undefined;
  return {
    kind: 'call',
    fence: run.fence,
    place: scope.place,
    entry: entryOf(question, ended),
    ...(family === undefined ? {} : { family }),
  };
}

/** Resolves when the entry is durable, with the credits that are in it. */
async function commitEntry(run: CallRun, write: CallWrite, operation?: OperationRecord): Promise<number> {
  const { fence, place, entry } = write;
  try {
    await run.process.committer.commit([
      write,
      ...(operation === undefined ? [] : [{ kind: 'operation', fence, place, operation } as const]),
    ]);
  } catch (error) {
    stopIfOvertaken(run, error);
    throw error;
  }
  return write.isPaidElsewhere === true ? 0 : entry.credits;
}

/** A newer attempt works on the run: whatever this one still calls would be paid twice. */
export function stopIfOvertaken(run: CallRun, error: unknown): void {
  if (error instanceof RunFatalError) run.raiseFatal(error);
}

/**
 * Journals a failure and resolves when it is durable, with what it costs: what the play does next may be to pay another
 * provider, and after a crash it must not pay both.
 *
 * @param operation what a retry of the failed call must know of it
 */
export async function journalFailure(
  run: CallRun,
  question: Question,
  { operation, ...ended }: Ended & { readonly operation?: OperationRecord | undefined },
): Promise<number> {
  const credits = await commitEntry(run, entryWrite(run, question, ended), operation);
  settle(run, question, { ...ended, credits });
  return credits;
}

function settle(run: CallRun, question: Question, ended: Ended): void {
  run.settlements.add(question.scope.place, ended.credits);
  run.ended({
    tool: question.tool.id,
    datasetNo: question.scope.place.datasetNo,
    path: question.scope.path,
    outcome: ended.outcome,
    source: ended.source,
    credits: ended.credits,
    replayed: false,
  });
}
