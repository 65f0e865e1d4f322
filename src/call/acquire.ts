import { Halted } from '../scope/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import type { OperationRecord } from '../store/index.ts';
import { batchOf, type CatalogueTool, type Failure, type Job } from '../tool/index.ts';
import { type Answer, rawOf } from './answer.ts';
import { keptPart } from './batch-answer.ts';
import { buyInBatch } from './batch-buy.ts';
import { MemberFailed } from './batch-member.ts';
import type { Shared } from './claims.ts';
import { ContractBroken, readAnswer, readingUnlessFailed } from './contract.ts';
import { deliver } from './deliver.ts';
import type { CallRun } from './env.ts';
import { doubtError, thawError } from './failure.ts';
import { Overtaken, unsentInFamily } from './family-write.ts';
import { type Found, NotAnswered } from './found.ts';
import { settledIntent } from './intent.ts';
import { endJob, ongoingJob, startJob } from './job.ts';
import type { MadeWrite, Paid } from './journal.ts';
import { isLarge } from './lookup.ts';
import { madeAlready, madeBefore, madeOther } from './made-write.ts';
import { pointedAnswer } from './pointer.ts';
import { operationKeyOf, type Question } from './question.ts';
import { boughtAnswer, keepAnswer, receiptWrite } from './record.ts';
import { changedWrite, otherWriteHere } from './same-write.ts';
import type { SourceRuns } from './source-run.ts';

/** The answer to a question that the journal does not hold. Rejects with `NotAnswered`. */
export function acquire(run: CallRun, question: Question): Promise<Found> {
  const { tool } = question;
  // What has brought its answer was done, though nobody knows what the provider said to it.
  if (isProved(run, question)) {
    known(run, question);
    return complete(run, question, null);
  }
  if (tool.definition.async !== undefined) return acquireJob(run, question, tool.definition.async);
  const paid = run.journal.takeUnsettled(question.callId, tool.id);
  if (paid !== undefined) return settle(run, question, paid);
  return bought(run, question);
}

/** True of a write in doubt whose effect shows that it was done. */
export function isProved(run: CallRun, { scope, callId, proved }: Question): boolean {
  return proved === true && run.journal.isInDoubt(scope.place, callId);
}

/** A job that this very call has started goes on, unless its end is on record. */
async function acquireJob(run: CallRun, question: Question, job: Job): Promise<Found> {
  const paid = run.journal.takeUnsettled(question.callId, question.tool.id);
  if (paid !== undefined) {
    const found = await settle(run, question, paid);
    // Where the tool could not read it, it may turn out to be no end.
    const reading = found.reading ?? readAnswer(question.tool, question.input, rawOf(found.answer));
    if (reading.status !== 'pending') return { ...found, reading };
  }
  // What may be shared goes on under its claim (buy), so that two rows do not both pay for one job.
  const going = question.shared ? undefined : await ongoingJob({ run, question, job });
  if (going === undefined) return bought(run, question);
  begun(run, question);
  return endJob({ run, question, job }, going);
}

/** Whatever a call gets for which nothing of its own is paid. */
function bought(run: CallRun, question: Question): Promise<Found> {
  if (run.source !== undefined && !question.refreshed) return pointed(run, question, run.source);
  return question.site === undefined ? ask(run, question) : write(run, question);
}

/** The answer that the source of a rerun had, else whatever any call gets. */
async function pointed(run: CallRun, question: Question, source: SourceRuns): Promise<Found> {
  const failed = source.failureOf(question.scope.place, question.callId);
  if (failed !== undefined) throw unsent(thawError(failed));
  const found = await pointedAnswer(run, question, source);
  if (found !== 'none' && found !== 'unfit') {
    // What is answered is no longer in doubt.
    begun(run, question);
    return { ...found, source: 'source_run' };
  }
  if (question.site === undefined) return ask(run, question);
  if (found === 'unfit' && run.resend !== true) throw unsent(madeBefore(question));
  return write(run, question);
}

/** What an earlier attempt has paid for is read and settled now. */
async function settle(run: CallRun, question: Question, paid: Paid): Promise<Found> {
  if (keptPart(paid.receipt.raw ?? '') !== undefined) return settlePart(run, question, paid);
  // What is paid is no longer in doubt.
  begun(run, question);
  const answer = await run.process.lookup.hydrate(paid.receipt);
  if (answer === undefined) return ask(run, question);
  return { answer, source: 'live', bill: billOf(run, paid) };
}

function billOf(run: CallRun, { settled, owed }: Paid): NonNullable<Found['bill']> {
  if (owed !== undefined) return { charge: (credits) => owed.settle(credits) };
  return { charge: (credits) => run.budget.resolveUnknown(0, credits - settled) };
}

/** Where the provider has answered others and not this one, it is asked again, unless it may have been done. */
async function settlePart(run: CallRun, question: Question, paid: Paid): Promise<Found> {
  const answer = await run.process.lookup.hydrate(paid.receipt);
  if (answer === undefined) return bought(run, question);
  const found = { answer, source: 'live', bill: billOf(run, paid) } as const;
  try {
    const reading = readAnswer(question.tool, question.input, rawOf(answer));
    begun(run, question);
    return { ...found, reading };
  } catch (error) {
    if (error instanceof MemberFailed) return question.site === undefined ? ask(run, question) : write(run, question);
    if (!(error instanceof ContractBroken)) throw error;
    // Whoever finishes the call says what is wrong with it.
    begun(run, question);
    return found;
  }
}

function ask(run: CallRun, question: Question): Promise<Found> {
  if (!question.shared) return buy(run, question);
  const turn = run.process.claims.take(question.receiptKey);
  return turn === 'lead' ? lead(run, question) : follow(run, question, turn);
}

async function follow(run: CallRun, question: Question, turn: Promise<Shared | 'lead'>): Promise<Found> {
  const told = await turn;
  if (told === 'lead') return lead(run, question);
  if (told.kind === 'rejected') {
    throw new NotAnswered(told.failure, { tries: 1, refusals: 0, durationMs: 0, source: 'coalesced' });
  }
  // An answer that is too old for this follower leaves it to ask for itself.
  if (question.notBefore !== undefined && told.answer.at < question.notBefore) return ask(run, question);
  if (isLarge(told.answer.rawText)) await run.process.lookup.turn();
  return unlessOwn(run, question, { answer: { ...told.answer, raw: undefined }, source: 'coalesced' });
}

/** What is found may be what this very call has paid for: the batch that a dead attempt had sent it in was answered meanwhile. */
function unlessOwn(run: CallRun, question: Question, found: Found): Found | Promise<Found> {
  if (found.answer.callId !== question.callId) return found;
  const paid = run.journal.takeUnsettled(question.callId, question.tool.id);
  return paid === undefined ? found : settle(run, question, paid);
}

/** Asks the store, then the provider, for everyone who follows this question. */
async function lead(run: CallRun, question: Question): Promise<Found> {
  const { claims } = run.process;
  try {
    const { receiptKey: key, notBefore, olderKeys } = question;
    const newest = foundIn(question, await run.process.lookup.byKey({ key, notBefore }));
    const stored = newest ?? (olderKeys.length > 0 ? await foundOlder(run, question) : undefined);
    const found = stored === undefined ? await buy(run, question) : await unlessOwn(run, question, stored);
    claims.share(question.receiptKey, { kind: 'answer', answer: found.answer });
    return found;
  } catch (error) {
    if (error instanceof NotAnswered && error.failure.ending === 'rejected')
      claims.share(question.receiptKey, { kind: 'rejected', failure: error.failure });
    else claims.abandon(question.receiptKey);
    throw error;
  }
}

/** A stored answer, unless it only says that the provider is still at work, or has answered others and not this one. */
function foundIn(question: Question, answer: Answer | undefined): Found | undefined {
  if (answer === undefined) return undefined;
  if (question.tool.isFunction && answer.part === undefined) return { answer, source: 'receipt' };
  const reading = readingUnlessFailed(question, answer);
  return reading === undefined || reading.status === 'pending' ? undefined : { answer, source: 'receipt', reading };
}

async function foundOlder(run: CallRun, question: Question): Promise<Found | undefined> {
  for (const key of question.olderKeys) {
    const found = foundIn(question, await run.process.lookup.byKey({ key, notBefore: question.notBefore }));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function buy(run: CallRun, question: Question, before = begun(run, question)): Promise<Found> {
  if (run.planning !== undefined) {
    run.planning.missed(question);
    throw new Halted('a plan buys nothing');
  }
  const job = question.tool.definition.async;
  if (job !== undefined) {
    const asked = { run, question, job };
    return endJob(asked, (await ongoingJob(asked)) ?? (await startJob(asked, before)));
  }
  const isBatched = batchOf(question.tool) !== undefined;
  const bought = await (isBatched ? buyInBatch(run, question, before) : deliver(run, question, before));
  if ('answer' in bought) return bought;
  if (!bought.answered) {
    noteUnsure(run, question, bought);
    throw new NotAnswered(bought.failure, { ...bought, source: 'live' });
  }
  const write = receiptWrite(run, question, bought);
  try {
    await keepAnswer(run, question, [write]);
  } catch (error) {
    bought.permit.charge(question.tool.maxCredits);
    throw error;
  }
  return { answer: boughtAnswer(write, bought.raw), source: 'live', bill: bought.permit };
}

function begun(run: CallRun, question: Question): OperationRecord | undefined {
  return run.journal.takeOperation(question.scope.place, question.callId);
}

/** A play that asks again for a keyed write which may have been done gets the same operation. */
function retried(run: CallRun, question: Question): Question {
  const { tool, scope, inputDigest } = question;
  if (!isSentAlone(tool)) return question;
  const operationKey = run.journal.unsure.take(scope.place, { tool: tool.id, inputDigest });
  return operationKey === undefined ? question : { ...question, operationKey };
}

function noteUnsure(
  run: CallRun,
  question: Question,
  { failure, refusals }: { failure: Failure; refusals: number },
): void {
  const { tool, scope, inputDigest, site } = question;
  if (site === undefined || failure.ending !== 'ambiguous' || !isSentAlone(tool)) return;
  const operationKey = operationKeyOf(run, question, refusals);
  run.journal.unsure.add(scope.place, { tool: tool.id, inputDigest, operationKey });
}

/** The key of a batch is that of all its members. */
function isSentAlone(tool: CatalogueTool): boolean {
  return tool.sendsIdempotencyKey && batchOf(tool) === undefined && tool.definition.async === undefined;
}

/** A write goes out unless an earlier attempt may have sent it, or sent another one from here. */
async function write(run: CallRun, question: Question): Promise<Found> {
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
    return send(run, retried(run, question), cursorOf(run, question));
  }
  if (before.state === 'retrying') return send(run, retried(run, question), before);
  const settled = await settledIntent(run, question, before);
  if (before.state === 'intended' && settled.status !== 'unknown') known(run, question);
  if (settled.status === 'done') return complete(run, question, settled.data);
  if (settled.status === 'notDone') {
    // Another run of the family may have sent it since, from where changed code asks for it.
    const made = await madeAlready(run, question);
    if (made !== undefined) throw unsent(made);
    return send(run, question, { ...before, tries: 0, waitUntil: null });
  }
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

/** An equal write of the row, or of the run outside rows, is in doubt: a second one might be its repeat. */
function likeDoubted(question: Question, { callId, label }: MadeWrite): NotAnswered {
  const error = doubtError(
    { ...question, callId },
    `The same write of '${label}' may have been done, and nobody knows what became of it.`,
  );
  const failure: Failure = { ending: 'ambiguous', message: error.message, error };
  return new NotAnswered(failure, { tries: 0, refusals: 0, durationMs: 0, source: 'unsent' });
}

/** What a write in doubt may have cost is not unknown any more. */
function known(run: CallRun, { tool }: Question): void {
  run.budget.resolveUnknown(tool.maxCredits, 0);
}

/** A write whose place holds another one: what somebody said of that answers it; else it is not made. */
function insteadOf(run: CallRun, question: Question, other: OperationRecord): Promise<Found> {
  if (other.state === 'done') {
    run.journal.settleSite(question.scope.place, other.site);
    return complete(run, question, JSON.parse(other.answer ?? 'null') as JsonValue);
  }
  // Of what is tried again, answers may differ: that is its row's matter, not a fault of the play.
  if (run.retriesFailed === true || run.source !== undefined) throw unsent(madeOther(question, other));
  throw changedWrite(run, question);
}

/** A write that may go out again under its key goes on where the source of a rerun stopped. */
function cursorOf(run: CallRun, { scope, callId, tool, refreshed }: Question): OperationRecord | undefined {
  return tool.sendsIdempotencyKey && !refreshed ? run.source?.takeCursor(scope.place, callId) : undefined;
}

/** How a write ends that was made before. */
function unsent(error: CallsheetError): NotAnswered {
  const failure: Failure = { ending: 'rejected', message: error.message, error };
  return new NotAnswered(failure, { tries: 0, refusals: 0, durationMs: 0, source: 'unsent' });
}

/** Ends a call with what somebody says was done. */
async function complete(run: CallRun, question: Question, value: JsonValue): Promise<Found> {
  const raw = { kind: 'value', value, given: true } as const;
  const write = receiptWrite(run, question, { raw, durationMs: 0 });
  await keepAnswer(run, question, [write]);
  const charge = (credits: number): void => run.budget.resolveUnknown(0, credits);
  return { answer: boughtAnswer(write, raw), source: 'live', bill: { charge } };
}
