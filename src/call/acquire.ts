import { Halted } from '../scope/index.ts';
import type { AnswerSource } from '../sdk/index.ts';
import type { Failure } from '../tool/index.ts';
import type { Answer } from './answer.ts';
import type { Shared } from './claims.ts';
import { type Reading, readAnswer } from './contract.ts';
import { deliver } from './deliver.ts';
import type { CallRun } from './env.ts';
import type { Paid } from './journal.ts';
import { isLarge } from './lookup.ts';
import type { Question } from './question.ts';
import { boughtAnswer, receiptWrite, unrecorded } from './record.ts';

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
  constructor(failure: Failure, facts: { tries: number; durationMs: number; source: AnswerSource }) {
    super(failure.message);
    this.failure = failure;
    this.tries = facts.tries;
    this.durationMs = facts.durationMs;
    this.source = facts.source;
  }
}

/** The answer to a question that the journal does not hold. Rejects with `NotAnswered`. */
export function acquire(run: CallRun, question: Question): Promise<Found> {
  const paid = run.journal.takeUnsettled(question.callId);
  return paid === undefined ? ask(run, question) : settle(run, question, paid);
}

/** What an earlier attempt has paid for is read and settled now. */
async function settle(run: CallRun, question: Question, paid: Paid): Promise<Found> {
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
  if (told.kind === 'rejected') throw new NotAnswered(told.failure, { tries: 1, durationMs: 0, source: 'coalesced' });
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

async function buy(run: CallRun, question: Question): Promise<Found> {
  if (run.planning !== undefined) {
    run.planning.missed(question);
    throw new Halted('a plan buys nothing');
  }
  const bought = await deliver(run, question);
  if (!bought.answered) throw new NotAnswered(bought.failure, { ...bought, source: 'live' });
  const write = receiptWrite(run, question, bought);
  try {
    await run.process.committer.commit([write]);
  } catch (error) {
    bought.permit.charge(question.tool.maxCredits);
    throw unrecorded(run, question, error);
  }
  return { answer: boughtAnswer(write, bought.raw), source: 'live', bill: bought.permit };
}
