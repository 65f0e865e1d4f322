import { PutOff, type Scope } from '../scope/index.ts';
import { type CallsheetError, InDoubtError, RunFatalError, ToolExecutionError, type ToolResult } from '../sdk/index.ts';
import type { OperationRecord } from '../store/index.ts';
import { batchOf } from '../tool/index.ts';
import { acquire, isProved } from './acquire.ts';
import { ContractBroken } from './contract.ts';
import type { CallRun } from './env.ts';
import { failureError } from './failure.ts';
import { breakContract, finish } from './finish.ts';
import { type Found, NotAnswered } from './found.ts';
import { operationOf } from './intent.ts';
import { type Question, questionOf } from './question.ts';
import { journalFailure } from './record.ts';
import { replay } from './replay.ts';
import { askedCall } from './request.ts';

/**
 * One tool call, from the author's arguments to the author's result: identity, journal, then claim, receipt, permit,
 * delivery and record (acquire), then reading (finish). Throws at once where nothing can be asked.
 */
export function executeCall(run: CallRun, scope: Scope, args: readonly unknown[]): Promise<ToolResult> {
  const asking = askQuestion(run, scope, args);
  if (asking instanceof Promise) return asking.then((question) => answerQuestion(run, question));
  return answerQuestion(run, asking);
}

/** What an author asks, validated and with its identity. */
export function askQuestion(run: CallRun, scope: Scope, args: readonly unknown[]): Question | Promise<Question> {
  run.assertGoing();
  return questionOf(run, scope, askedCall(args));
}

/** The result of a question, wherever its answer comes from. */
export async function answerQuestion(run: CallRun, question: Question): Promise<ToolResult> {
  const { scope } = question;
  if (question.site !== undefined) run.recorded?.asked(question.callId);
  const entry = run.journal.entry(scope.place, question.callId);
  if (entry !== undefined && !isProved(run, question)) return replay(run, question, entry);
  let found: Found;
  try {
    found = await acquire(run, question);
  } catch (error) {
    throw await failed(run, question, error);
  }
  return finish(run, question, found);
}

/** The error that the author gets; one that says how the call ended is journalled first. */
async function failed(run: CallRun, question: Question, error: unknown): Promise<unknown> {
  if (error instanceof PutOff) await run.putOff(question, error.until);
  if (error instanceof ContractBroken) return breakContract(run, question, { broken: error, receiptId: null });
  if (error instanceof RunFatalError) run.raiseFatal(error);
  const unready = error instanceof NotAnswered ? missingSecret(run, error) : undefined;
  if (unready !== undefined) {
    run.raiseFatal(unready);
    return unready;
  }
  const ended = error instanceof NotAnswered ? error : undefined;
  const told = ended === undefined ? error : failureError(question, ended.failure, ended.tries);
  if (told instanceof InDoubtError && isOwn(told, question)) noteDoubt(run, question);
  // A refusal of the governor (limit exhausted, provider at a trickle) is how the call ended, too.
  if (ended === undefined && !(error instanceof ToolExecutionError)) return told;
  await journalFailure(run, question, {
    outcome: 'failed',
    source: ended?.source ?? 'unsent',
    receiptId: ended?.receiptId ?? null,
    credits: 0,
    durationMs: Math.round(ended?.durationMs ?? 0),
    at: run.process.clock.now(),
    error: told as CallsheetError,
    operation: ended === undefined ? undefined : afterFailure(run, question, ended),
  });
  return told;
}

/** True where it is this call that may have been done, and not an equal one before it. */
function isOwn({ details }: InDoubtError, { callId }: Question): boolean {
  return (details as { readonly callId?: unknown }).callId === callId;
}

function noteDoubt(run: CallRun, { scope, callId, label, tool, inputDigest }: Question): void {
  run.journal.doubt(scope.place, { callId, path: scope.path, label, tool: tool.id, inputDigest });
}

/**
 * What a retry of this failure must know. A provider that keeps its refusals by our key would repeat them for ever, so that it
 * has another key; and the intent of a write that was certainly not done leaves nothing in doubt, for a rerun either.
 */
function afterFailure(run: CallRun, question: Question, ended: NotAnswered): OperationRecord | undefined {
  const { refusals, failure, source, receiptId } = ended;
  const isKeyed = question.tool.sendsIdempotencyKey;
  const isIntended = question.site !== undefined && !isKeyed && source === 'live';
  if (failure.ending === 'ambiguous' && batchOf(question.tool) !== undefined) {
    // What may have been done with others goes out again with the same ones, as is on record, unless they were answered.
    // A doubt without an answer is an earlier one: recorded anew, it would count as sent by this very run.
    if (!(failure.error instanceof InDoubtError) || receiptId === null) return undefined;
    return operationOf(run, question, { state: 'intended', tries: 0, refusals, waitUntil: null });
  }
  if (isIntended ? failure.ending === 'ambiguous' : refusals === 0 || !isKeyed) return undefined;
  return operationOf(run, question, { state: 'retrying', tries: 0, refusals, waitUntil: null });
}

/** A secret that is not there is every row's matter, and nothing was sent: the run ends, and goes on once it is set. */
function missingSecret(run: CallRun, { failure }: NotAnswered): RunFatalError | undefined {
  const { error } = failure;
  if (error?.code !== 'SECRET_MISSING') return undefined;
  const { message, details, next } = error;
  return new RunFatalError('SECRET_MISSING', message, {
    details,
    next: [...next, `callsheet runs resume ${run.runId}`],
    cause: error,
  });
}
