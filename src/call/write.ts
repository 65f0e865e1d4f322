import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import type { OperationRecord } from '../store/index.ts';
import type { Failure } from '../tool/index.ts';
import { begun, buy, isSentAlone } from './buy.ts';
import type { CallRun } from './env.ts';
import { askedAnew, evictionOf, type FailedPart } from './failed-part.ts';
import { doubtError } from './failure.ts';
import { Overtaken, unsentInFamily } from './family-write.ts';
import { type Found, NotAnswered } from './found.ts';
import { settledIntent } from './intent.ts';
import type { MadeWrite } from './journal.ts';
import { madeAlready, madeOther } from './made-write.ts';
import type { Bill } from './open-tries.ts';
import type { Question } from './question.ts';
import { boughtAnswer, keepAnswer, receiptWrite } from './record.ts';
import { changedWrite, otherWriteHere } from './same-write.ts';

/** A write goes out unless an earlier attempt may have sent it, or sent another one from here. */
export async function write(run: CallRun, question: Question, part?: FailedPart): Promise<Found> {
  const before = begun(run, question);
  if (before === undefined) {
    const doubted = run.journal.doubtLike(question.scope.place, {
      tool: question.tool.id,
      inputDigest: question.inputDigest,
    });
    if (doubted !== undefined) throw likeDoubted(question, doubted);
    const other = await otherWriteHere(run, question);
    if (other !== undefined) return insteadOf(run, question, other);
    const made = await madeAlready(run, question);
    if (made !== undefined) throw unsent(made);
    if (part !== undefined) await askedAnew(run, part);
    return send(run, retried(run, question), cursorOf(run, question));
  }
  // What was sent, and of which its batch tells how it ended, is in doubt only if that leaves it so.
  if (before.state === 'retrying' || (before.state === 'intended' && part !== undefined)) {
    if (part?.failure.ending === 'ambiguous') throw partInDoubt(question, part);
    if (part !== undefined) await askedAnew(run, part);
    return send(run, retried(run, question), { ...before, state: 'retrying' });
  }
  const settled = await settledIntent(run, question, before);
  if (settled.status === 'done') return complete(run, question, { value: settled.data, operation: before, part });
  if (settled.status === 'notDone') {
    run.tries.billOf(question.callId)?.charge(0);
    // Another run of the family may have sent it since, from where changed code asks for it.
    const made = await madeAlready(run, question);
    if (made !== undefined) throw unsent(made);
    if (part !== undefined) await askedAnew(run, part, 0);
    return send(run, question, { ...before, tries: 0, waitUntil: null });
  }
  part?.bill.charge('unknown');
  const { error } = settled;
  const failure: Failure = { ending: 'ambiguous', message: error.message, error };
  throw new NotAnswered(failure, { tries: before.tries, refusals: 0, durationMs: 0, source: 'live' });
}

/** A write goes out under the key that it is on record with, unless another run of the family has sent it. */
async function send(run: CallRun, question: Question, before: OperationRecord | undefined): Promise<Found> {
  const sentAlone = isSentAlone(question.tool);
  const isRecorded = sentAlone && before?.refusals === 0;
  const operationKey = question.operationKey ?? (isRecorded ? before.operationKey : undefined);
  const asked = operationKey === undefined ? question : { ...question, operationKey };
  for (;;) {
    try {
      return await buy(run, await unsentInFamily(run, asked, { before, sentAlone }), before);
    } catch (error) {
      if (error instanceof CallsheetError && error.code === 'WRITE_ALREADY_DONE') throw unsent(error);
      if (!(error instanceof Overtaken)) throw error;
    }
  }
}

/** With others it would go out under another key, and nothing protect it from being done twice. */
function partInDoubt(question: Question, { failure, bill, answer: { receiptId } }: FailedPart): NotAnswered {
  bill.charge('unknown');
  const error = doubtError(question, `${failure.message}.`);
  return new NotAnswered({ ...failure, error }, { tries: 1, refusals: 0, durationMs: 0, source: 'live', receiptId });
}

/** An equal write of the row, or of the run outside rows, is in doubt: a second one might be its repeat. */
function likeDoubted(question: Question, { callId, label }: MadeWrite): NotAnswered {
  const error = doubtError(
    { ...question, callId },
    `The same write of '${label}' may have been done, and nobody knows what became of it.`,
  );
  const failure: Failure = { ending: 'ambiguous', message: error.message, error };
  return new NotAnswered(failure, { tries: 0, refusals: 0, durationMs: 0, source: 'unsent' });
}

/** The bill of what its run has settled `credits` for. */
export function adjusting({ budget }: CallRun, settled: number): Bill {
  return { charge: (credits) => budget.adjust((credits === 'unknown' ? settled : credits) - settled), leave: () => {} };
}

/** A write whose place holds another one: what somebody said of that answers it; else it is not made. */
function insteadOf(run: CallRun, question: Question, other: OperationRecord): Promise<Found> {
  if (other.state === 'done') {
    run.journal.settleSite(question.scope.place, other.site);
    return complete(run, question, { value: JSON.parse(other.answer ?? 'null') as JsonValue, operation: other });
  }
  // Of what is tried again, answers may differ: that is its row's matter, not a fault of the play.
  if (run.retriesFailed === true || run.source !== undefined) throw unsent(madeOther(question, other));
  throw changedWrite(run, question);
}

/** A write that may go out again under its key goes on where the source of a rerun stopped. */
function cursorOf(run: CallRun, { scope, callId, tool, refreshed }: Question): OperationRecord | undefined {
  const cursor = tool.sendsIdempotencyKey && !refreshed ? run.source?.takeCursor(scope.place, callId) : undefined;
  return cursor === undefined ? undefined : { ...cursor, isInherited: true };
}

/** How a write ends that was made before. */
export function unsent(error: CallsheetError): NotAnswered {
  const failure: Failure = { ending: 'rejected', message: error.message, error };
  return new NotAnswered(failure, { tries: 0, refusals: 0, durationMs: 0, source: 'unsent' });
}

/** Ends a call with what somebody says was done. What a rerun was given, the run that it comes from settles. */
export async function complete(
  run: CallRun,
  question: Question,
  {
    value,
    operation,
    part,
  }: {
    readonly value: JsonValue;
    readonly operation: OperationRecord | undefined;
    /** What its batch had said of it. */
    readonly part?: FailedPart | undefined;
  },
): Promise<Found> {
  const raw = { kind: 'value', value, given: true } as const;
  const write = receiptWrite(run, question, { raw, durationMs: 0 });
  await keepAnswer(run, question, part === undefined ? [write] : [write, evictionOf(part.answer)]);
  const bill = part?.bill ?? run.tries.billOf(question.callId) ?? adjusting(run, 0);
  const isPaidElsewhere = operation?.isInherited === true;
  return { answer: boughtAnswer(write, raw), source: 'live', bill, isPaidElsewhere };
}

/** A play that asks again for a keyed write which may have been done gets the same operation. */
function retried(run: CallRun, question: Question): Question {
  const { tool, scope, inputDigest } = question;
  if (!isSentAlone(tool)) return question;
  const operationKey = run.journal.unsure.take(scope.place, { tool: tool.id, inputDigest });
  return operationKey === undefined ? question : { ...question, operationKey };
}
