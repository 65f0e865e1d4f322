import { Halted } from '../scope/index.ts';
import type { AnswerSource, CallsheetError, JsonValue } from '../sdk/index.ts';
import type { OperationRecord } from '../store/index.ts';
import type { Failure } from '../tool/index.ts';
import type { Answer } from './answer.ts';
import type { Shared } from './claims.ts';
import { type Reading, readAnswer } from './contract.ts';
import { deliver } from './deliver.ts';
import type { CallRun } from './env.ts';
import { thawError } from './failure.ts';
import { settledIntent } from './intent.ts';
import type { Paid } from './journal.ts';
import { isLarge } from './lookup.ts';
import { madeAlready, madeBefore, madeOther } from './made-write.ts';
import { pointedAnswer } from './pointer.ts';
import type { Question } from './question.ts';
import { boughtAnswer, keepAnswer, receiptWrite } from './record.ts';
import { changedWrite, otherWriteHere } from './same-write.ts';
import type { SourceRuns } from './source-run.ts';

/** An answer and how this call came by it. */
export interface Found {
  readonly answer: Answer;
  readonly source: AnswerSource;
  /** Where the answer had to be read on the way here. */
  readonly reading?: Reading;
  /** Takes the real cost off what was reserved; nothing where the answer cost nothing. */
  readonly bill?: { charge(credits: number): void };
}

/** An operation ended without an answer. */
export class NotAnswered extends Error {
  readonly failure: Failure;
  readonly tries: number;
  readonly durationMs: number;
  readonly source: AnswerSource;
  /** How often the provider has definitely refused it. */
  readonly refusals: number;
  constructor(failure: Failure, facts: { tries: number; refusals: number; durationMs: number; source: AnswerSource }) {
    super(failure.message);
    this.failure = failure;
    this.tries = facts.tries;
    this.durationMs = facts.durationMs;
    this.source = facts.source;
    this.refusals = facts.refusals;
  }
}

/** The answer to a question that the journal does not hold. Rejects with `NotAnswered`. */
export function acquire(run: CallRun, question: Question): Promise<Found> {
  const paid = run.journal.takeUnsettled(question.callId);
  if (paid !== undefined) return settle(run, question, paid);
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
  // What is paid is no longer in doubt.
  begun(run, question);
  const answer = await run.process.lookup.hydrate(paid.receipt);
  if (answer === undefined) return ask(run, question);
  const charge = (credits: number): void => run.budget.resolveUnknown(0, credits - paid.settled);
  return { answer, source: 'live', bill: { charge } };
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
  return { answer: { ...told.answer, raw: undefined }, source: 'coalesced' };
}

/** Asks the store, then the provider, for everyone who follows this question. */
async function lead(run: CallRun, question: Question): Promise<Found> {
  const { claims } = run.process;
  try {
    const { receiptKey: key, notBefore, olderKeys } = question;
    const newest = foundIn(question, await run.process.lookup.byKey({ key, notBefore }));
    const stored = newest ?? (olderKeys.length > 0 ? await foundOlder(run, question) : undefined);
    const found = stored ?? (await buy(run, question));
    claims.share(question.receiptKey, { kind: 'answer', answer: found.answer });
    return found;
  } catch (error) {
    if (error instanceof NotAnswered && error.failure.ending === 'rejected')
      claims.share(question.receiptKey, { kind: 'rejected', failure: error.failure });
    else claims.abandon(question.receiptKey);
    throw error;
  }
}

/** A stored answer, unless it only says that the provider is still at work. */
function foundIn(question: Question, answer: Answer | undefined): Found | undefined {
  if (answer === undefined) return undefined;
  if (question.tool.isFunction) return { answer, source: 'receipt' };
  const reading = readAnswer(question.tool, question.input, JSON.parse(answer.rawText));
  return reading.status === 'pending' ? undefined : { answer, source: 'receipt', reading };
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
  const bought = await deliver(run, question, before);
  if (!bought.answered) throw new NotAnswered(bought.failure, { ...bought, source: 'live' });
  const write = receiptWrite(run, question, bought);
  try {
    await keepAnswer(run, question, write);
  } catch (error) {
    bought.permit.charge(question.tool.maxCredits);
    throw error;
  }
  return { answer: boughtAnswer(write, bought.raw), source: 'live', bill: bought.permit };
}

function begun(run: CallRun, question: Question): OperationRecord | undefined {
  return run.journal.takeOperation(question.scope.place, question.callId);
}

/** A write goes out unless an earlier attempt may have sent it, or sent another one from here. */
async function write(run: CallRun, question: Question): Promise<Found> {
  const before = begun(run, question);
  if (before === undefined) {
    const other = await otherWriteHere(run, question);
    if (other !== undefined) return insteadOf(run, question, other);
    const made = await madeAlready(run, question);
    if (made !== undefined) throw unsent(made);
    return buy(run, question, cursorOf(run, question));
  }
  if (before.state === 'retrying') return buy(run, question, before);
  const settled = await settledIntent(run, question, before);
  if (settled.status === 'done') return complete(run, question, settled.data);
  if (settled.status === 'notDone') return buy(run, question, { ...before, tries: 0, waitUntil: null });
  const { error } = settled;
  const failure: Failure = { ending: 'ambiguous', message: error.message, error };
  throw new NotAnswered(failure, { tries: before.tries, refusals: 0, durationMs: 0, source: 'live' });
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
  return new NotAnswered(failure, { tries: 0, refusals: 0, durationMs: 0, source: 'source_run' });
}

/** Ends a call with what somebody says was done. */
async function complete(run: CallRun, question: Question, value: JsonValue): Promise<Found> {
  const raw = { kind: 'value', value, given: true } as const;
  const write = receiptWrite(run, question, { raw, durationMs: 0 });
  await keepAnswer(run, question, write);
  const charge = (credits: number): void => run.budget.resolveUnknown(0, credits);
  return { answer: boughtAnswer(write, raw), source: 'live', bill: { charge } };
}
