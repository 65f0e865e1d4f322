import type { Job } from '../tool/index.ts';
import { type Answer, rawOf } from './answer.ts';
import { keptPart } from './batch-answer.ts';
import { MemberFailed } from './batch-member.ts';
import { begun, buy } from './buy.ts';
import type { Shared } from './claims.ts';
import { ContractBroken, readAnswer, readingUnlessFailed } from './contract.ts';
import type { CallRun } from './env.ts';
import { askedAnew } from './failed-part.ts';
import { thawError } from './failure.ts';
import { answeredInFamily } from './family-write.ts';
import { type Found, NotAnswered } from './found.ts';
import { endedAfterAll, endedElsewhere, endJob, ongoingJob } from './job.ts';
import type { Paid } from './journal.ts';
import { isLarge } from './lookup.ts';
import { madeBefore } from './made-write.ts';
import type { Bill } from './open-tries.ts';
import { pointedAnswer } from './pointer.ts';
import type { Question } from './question.ts';
import type { SourceRuns } from './source-run.ts';
import { adjusting, complete, unsent, write } from './write.ts';

/** The answer to a question that the journal does not hold. Rejects with `NotAnswered`. */
export function acquire(run: CallRun, question: Question): Promise<Found> {
  const { tool } = question;
  // What has brought its answer was done, though nobody knows what the provider said to it.
  if (isProved(run, question)) return complete(run, question, { value: null, operation: begun(run, question) });
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
    if (reading.status !== 'pending') return endedAfterAll({ run, question, job }, { ...found, reading });
  }
  // What may be shared goes on under its claim (buy), so that two rows do not both pay for one job.
  const asked = { run, question, job };
  const going = question.shared ? undefined : await ongoingJob(asked, () => begun(run, question));
  return going === undefined ? bought(run, question) : endJob(asked, going);
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
  const { async: job } = question.tool.definition;
  if (found !== 'none' && found !== 'unfit') {
    // What is answered is no longer in doubt.
    const before = begun(run, question);
    if (job !== undefined) await endedElsewhere({ run, question, job });
    await answeredInFamily(run, question, before);
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
  const isPaidElsewhere = begun(run, question)?.isInherited === true;
  const answer = await run.process.lookup.hydrate(paid.receipt);
  if (answer === undefined) return ask(run, question);
  return { answer, source: 'live', bill: billOf(run, paid), isPaidElsewhere };
}

/** What is settled is corrected; what is not may be on record as lost, since its answer could not be read. */
function billOf(run: CallRun, { receipt, settled = 0, owed }: Paid): Bill {
  const lost = (): Bill | undefined => (settled === 0 ? run.tries.billOf(receipt.callId) : undefined);
  return owed ?? lost() ?? adjusting(run, settled);
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
    if (error instanceof MemberFailed) {
      const failed = { failure: error.failure, answer, bill: found.bill };
      if (question.site !== undefined) return write(run, question, failed);
      await askedAnew(run, failed);
      return ask(run, question);
    }
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
  const { async: job } = question.tool.definition;
  if (job !== undefined) return endedElsewhere({ run, question, job }).then(() => ownOr(run, question, found));
  return ownOr(run, question, found);
}

function ownOr(run: CallRun, question: Question, found: Found): Found | Promise<Found> {
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
