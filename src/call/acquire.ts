import { Halted } from '../scope/index.ts';
import type { AnswerSource } from '../sdk/index.ts';
import type { Failure } from '../tool/index.ts';
import type { Answer } from './answer.ts';
import { type Reading, readAnswer } from './contract.ts';
import { deliver } from './deliver.ts';
import type { CallRun } from './env.ts';
import type { Question } from './question.ts';
import { recordAnswer } from './record.ts';

/** An answer and how this call came by it. */
export interface Found {
  readonly answer: Answer;
  readonly source: AnswerSource;
  /** Where the answer had to be read on the way here. */
  readonly reading?: Reading;
  /** Takes the real cost off what was reserved. */
  readonly settle?: (credits: number) => void;
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
export async function acquire(run: CallRun, question: Question): Promise<Found> {
  const paid = run.journal.takeUnsettled(question.callId);
  const answer = paid === undefined ? undefined : await run.process.lookup.hydrate(paid.receipt);
  if (paid !== undefined && answer !== undefined) {
    const settle = (credits: number): void => run.budget.resolveUnknown(0, credits - paid.settled);
    return { answer, source: 'live', settle };
  }
  if (!question.shared) return buy(run, question);
  const { claims } = run.process;
  for (;;) {
    const turn = claims.take(question.receiptKey);
    const told = turn === 'lead' ? turn : await turn;
    if (told === 'lead') return lead(run, question);
    if (told.kind === 'rejected') throw new NotAnswered(told.failure, { tries: 1, durationMs: 0, source: 'coalesced' });
    // An answer that is too old for this follower leaves it to ask for itself.
    if (question.notBefore === undefined || told.answer.at >= question.notBefore)
      return { answer: { ...told.answer, raw: undefined }, source: 'coalesced' };
  }
}

/** Asks the store, then the provider, for everyone who follows this question. */
async function lead(run: CallRun, question: Question): Promise<Found> {
  const { claims } = run.process;
  try {
    const found = (await stored(run, question)) ?? (await buy(run, question));
    claims.share(question.receiptKey, { kind: 'answer', answer: found.answer });
    return found;
  } catch (error) {
    if (error instanceof NotAnswered && error.failure.ending === 'rejected')
      claims.share(question.receiptKey, { kind: 'rejected', failure: error.failure });
    else claims.abandon(question.receiptKey);
    throw error;
  }
}

async function stored(run: CallRun, question: Question): Promise<Found | undefined> {
  for (const key of [question.receiptKey, ...question.olderKeys]) {
    const answer = await run.process.lookup.byKey({ key, notBefore: question.notBefore });
    if (answer === undefined) continue;
    if (question.tool.isFunction) return { answer, source: 'receipt' };
    const reading = readAnswer(question.tool, question.input, JSON.parse(answer.rawText));
    if (reading.status !== 'pending') return { answer, source: 'receipt', reading };
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
  const { permit } = bought;
  try {
    const answer = await recordAnswer(run, question, bought);
    return { answer, source: 'live', settle: (credits) => permit.charge(credits) };
  } catch (error) {
    permit.charge(question.tool.maxCredits);
    throw error;
  }
}
