import { type CallsheetError, RunFatalError } from '../sdk/index.ts';
import type { CallEntry } from '../store/index.ts';
import type { RawAnswer } from '../tool/index.ts';
import type { Answer } from './answer.ts';
import type { CallRun } from './env.ts';
import { freezeError } from './failure.ts';
import type { Question } from './question.ts';

/** Makes a bought answer durable; resolves when it is. Nothing of the tool author's runs before. */
export async function recordAnswer(
  run: CallRun,
  question: Question,
  bought: { readonly raw: RawAnswer; readonly durationMs: number },
): Promise<Answer> {
  const { tool } = question;
  const rawText = JSON.stringify(bought.raw);
  const at = run.process.clock.now();
  const durationMs = Math.round(bought.durationMs);
  const write = {
    kind: 'receipt' as const,
    id: 0,
    receipt: {
      key: question.receiptKey,
      tool: tool.id,
      version: tool.version,
      toolDigest: tool.digest,
      account: tool.account.key,
      inputDigest: question.inputDigest,
      input: question.inputText,
      raw: rawText,
      at,
      durationMs,
      runNo: run.runNo,
      callId: question.callId,
      reusable: question.effect !== 'write' && tool.reuseScope !== 'never',
    },
  };
  try {
    await run.process.committer.commit([write]);
  } catch (error) {
    throw unrecorded(run, question, error);
  }
  return {
    receiptId: write.id,
    receiptKey: question.receiptKey,
    rawText,
    raw: bought.raw,
    at,
    durationMs,
    callId: question.callId,
  };
}

function unrecorded(run: CallRun, question: Question, error: unknown): RunFatalError {
  const { code, message, next } = error as CallsheetError;
  const fatal = new RunFatalError(
    code ?? 'STORE_FAILED',
    `Call '${question.label}' of ${question.tool.id} was answered, but the answer could not be stored: ${message} No further call goes out.`,
    { details: { tool: question.tool.id, callId: question.callId }, next: next ?? [], cause: error },
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

/** Journals an answer with the next group: its receipt is already durable, so nothing waits for it. */
export function journalAnswer(run: CallRun, question: Question, ended: Ended): void {
  const write = {
    kind: 'call' as const,
    fence: run.fence,
    place: question.scope.place,
    entry: entryOf(question, ended),
  };
  run.process.committer.defer([write], (error) => stopIfOvertaken(run, error));
  settle(run, question, ended);
}

/** A newer attempt works on the run: whatever this one still calls would be paid twice. */
function stopIfOvertaken(run: CallRun, error: unknown): void {
  if (error instanceof RunFatalError) run.raiseFatal(error);
}

/**
 * Journals a failure and waits until it is durable: what the play does next may be to pay another provider, and after
 * a crash it must not pay both.
 */
export async function journalFailure(run: CallRun, question: Question, ended: Ended): Promise<void> {
  try {
    await run.process.committer.commit([
      { kind: 'call', fence: run.fence, place: question.scope.place, entry: entryOf(question, ended) },
    ]);
  } catch (error) {
    stopIfOvertaken(run, error);
    throw error;
  }
  settle(run, question, ended);
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
