import { type Digest, digest, IDENTITY_FORMAT, PutOff, sleep } from '../scope/index.ts';
import type { OperationRecord, WriteOf } from '../store/index.ts';
import {
  answerView,
  type Failure,
  handleIn,
  type Job,
  jobPollTool,
  jobStartTool,
  type RawAnswer,
} from '../tool/index.ts';

import { type Answer, rawOf } from './answer.ts';
import { ContractBroken, type Reading, readAnswer } from './contract.ts';
import { deliver } from './deliver.ts';
import type { CallRun } from './env.ts';
import { type Found, NotAnswered } from './found.ts';
import type { StartedJob } from './open-jobs.ts';
import { ROW_WAIT_MS } from './permit.ts';
import type { Question } from './question.ts';
import { boughtAnswer, keepAnswer, receiptWrite } from './record.ts';

/**
 * Statuses by which a provider says that it knows no such job (any more): whoever asks next starts another, under another key.
 * A write may have been done all the same, and is not started again.
 */
const GONE: ReadonlySet<number> = new Set([404, 410]);

type EndJob = WriteOf<'endJob'>;

interface Asked {
  readonly run: CallRun;
  readonly question: Question;
  readonly job: Job;
}

/**
 * The job that this very call has started, in this attempt or in one that died.
 *
 * @param before how far the dead one had come with it
 */
export async function ongoingJob(
  asked: Asked,
  before: () => OperationRecord | undefined,
): Promise<StartedJob | undefined> {
  const { run, question } = asked;
  const open = run.openJobs.ofCall(question.callId);
  if (open !== undefined) return open;
  const paid = run.journal.takeUnsettled(question.callId, jobStartTool(question.tool, asked.job).id);
  const answer = paid === undefined ? undefined : await run.process.lookup.hydrate(paid.receipt);
  return answer === undefined ? undefined : startedOf(asked, answer, { ...before(), bill: paid?.owed });
}

/**
 * Starts the job, unless one that answers this question is under way.
 *
 * @param before how far an earlier attempt had come with starting it
 */
export async function startJob(asked: Asked, before: OperationRecord | undefined): Promise<StartedJob> {
  const { run } = asked;
  const start = startQuestion(asked);
  const known = start.shared
    ? await run.process.lookup.byKey({ key: start.receiptKey, notBefore: undefined })
    : undefined;
  if (known !== undefined) return run.openJobs.ofReceipt(known.receiptId) ?? startedOf(asked, known, before);
  const bought = await deliver(run, start, before);
  if (!bought.answered) throw new NotAnswered(bought.failure, { ...bought, source: 'live' });
  const write = receiptWrite(run, start, bought);
  await keepAnswer(run, start, [write]).catch((error: unknown) => {
    bought.permit.leave();
    throw error;
  });
  return startedOf(asked, boughtAnswer(write, bought.raw), { bill: bought.permit, refusals: bought.refusals });
}

/**
 * Polls a job until it is done.
 *
 * Invariants
 *  1. The answer to its start, and so the handle, is durable before the first poll: whoever asks the same question later, in
 *     this run or (where it may be shared) in another, polls the job that is there.
 *  2. The receipt of the start is evicted with the very write that records the end: no later question takes an old job. Of
 *     several runs that poll it, the one whose end is recorded first settles it.
 *  3. What it may cost is reserved from its start to its end: by its start, from the begin of an attempt that finds it open
 *     (journal), or by the first poll of a run that did not start it.
 */
export async function endJob(asked: Asked, started: StartedJob): Promise<Found> {
  for (let job = polledBefore(asked, started); ; ) {
    const polled = await poll(asked, job).catch((error: unknown) => {
      // It goes on where it was put off; else its credits must hold nobody up, and nobody can say what it comes to cost.
      if (error instanceof PutOff) asked.run.openJobs.keep(asked.question.callId, job);
      else job.bill?.leave();
      throw error;
    });
    if ('answer' in polled) return polled;
    job = polled;
    await untilNextPoll(asked, job);
  }
}

/**
 * Where somebody else has ended the job that this very call had started or polled, that run has settled it: it costs nothing
 * here.
 */
export async function endedElsewhere(asked: Asked): Promise<void> {
  const { run, question } = asked;
  const { callId } = question;
  run.openJobs.ofCall(callId)?.bill?.charge(0);
  if (run.tries.isEmpty) return;
  // One that has not ended would be this call's to poll, and no receipt its answer.
  const started = await run.process.lookup.newest(startQuestion(asked).receiptKey);
  if (started !== undefined) run.tries.billOf(pollIdOf(callId, started.id))?.charge(0);
  if (started?.callId === callId && started.runNo === run.runNo) run.tries.billOf(callId)?.charge(0);
}

/** An answer that was taken for no end when it was recorded is one after all, and is settled if it is the first. */
export async function endedAfterAll(asked: Asked, found: Found): Promise<Found> {
  const { run, question } = asked;
  const start = await run.process.lookup.newest(startQuestion(asked).receiptKey);
  const { receiptId } = found.answer;
  if (start === undefined || start.id > receiptId) return found;
  run.tries.billOf(pollIdOf(question.callId, start.id))?.charge(0);
  const end: EndJob = { kind: 'endJob', start: start.id, end: { id: receiptId }, at: run.process.clock.now() };
  await run.process.committer.commit([end]);
  return { ...found, isPaidElsewhere: found.isPaidElsewhere === true || end.isEndedBefore === true };
}

/** What a dead attempt may have been charged for its looks at another's job is what that job costs. */
function polledBefore({ run, question }: Asked, started: StartedJob): StartedJob {
  const lost = started.bill === undefined ? run.tries.billOf(pollIdOf(question.callId, started.receiptId)) : undefined;
  return lost === undefined ? started : { ...started, bill: run.openJobs.owing(lost) };
}

async function untilNextPoll(asked: Asked, started: StartedJob): Promise<void> {
  const { run, question, job } = asked;
  const { clock } = run.process;
  if (clock.now() - started.at >= job.timeoutMs) throw overdue(asked, started);
  if (job.intervalMs > ROW_WAIT_MS && question.scope.inRow) {
    run.openJobs.keep(question.callId, started);
    throw new PutOff(`job ${started.handle} is at work`, clock.now() + job.intervalMs);
  }
  await sleep(clock, job.intervalMs, run.halt);
  run.assertGoing();
}

/** The operation that starts the job: of the same call, but under a receipt key of its own. */
function startQuestion({ run, question, job }: Asked): Question {
  const { receiptKey, callId, shared } = question;
  // A refresh, and every write, has a job of its own.
  const subject = shared ? `"${receiptKey}"` : `"${run.runId}","${callId}"`;
  return {
    ...question,
    tool: jobStartTool(question.tool, job),
    receiptKey: digest(`[${IDENTITY_FORMAT},"job",${subject}]`),
    olderKeys: [],
    notBefore: undefined,
  };
}

function startedOf(
  { run, question, job }: Asked,
  answer: Answer,
  { bill, refusals = 0 }: Partial<Pick<StartedJob, 'bill' | 'refusals'>> = {},
): StartedJob {
  const owing = bill === undefined ? undefined : run.openJobs.owing(bill);
  try {
    const { receiptId, at } = answer;
    return { handle: handleOf(question, job, rawOf(answer)), receiptId, at, refusals, bill: owing };
  } catch (error) {
    owing?.leave();
    throw error;
  }
}

function handleOf({ tool, input }: Question, job: Job, raw: ReturnType<typeof rawOf>): string {
  try {
    if (raw.kind !== 'http') throw new Error('the answer to `async.start` did not come over HTTP');
    return handleIn(tool, job, { ...answerView(raw), input: input as never });
  } catch (error) {
    throw new ContractBroken('async.handle', error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}

/** The job, where it is still at work; else how it ended, durably. */
async function poll({ run, question, job }: Asked, started: StartedJob): Promise<Found | StartedJob> {
  const tool = jobPollTool(question.tool, job, started.handle);
  const look: Question = {
    ...question,
    tool: started.bill === undefined ? { ...tool, maxCredits: question.tool.maxCredits } : tool,
    callId: pollIdOf(question.callId, started.receiptId),
    effect: 'read',
    site: undefined,
    shared: false,
  };
  const polled = await deliver(run, look, undefined);
  const { clock } = run.process;
  if (!polled.answered) {
    const isGone = GONE.has(polled.failure.status ?? 0) && question.effect !== 'write';
    if (isGone) {
      await run.process.committer.commit([{ kind: 'evict', receiptIds: [started.receiptId], at: clock.now() }]);
      started.bill?.charge('unknown');
    }
    // What was refused otherwise is the look, and says nothing of the job.
    const refusals = isGone ? started.refusals + 1 : 0;
    throw new NotAnswered(polled.failure, { ...polled, refusals, source: 'live' });
  }
  const bill = started.bill ?? run.openJobs.owing(polled.permit);
  if (started.bill !== undefined) polled.permit.charge(0);
  const reading = readingOf(question, polled.raw);
  if (reading?.status === 'pending') return { ...started, bill };
  const write = receiptWrite(run, question, { raw: polled.raw, durationMs: Math.max(0, clock.now() - started.at) });
  const end: EndJob = { kind: 'endJob', start: started.receiptId, end: write, at: clock.now() };
  // What the tool cannot read may not be the end: the job stays known.
  await keepAnswer(run, question, reading === undefined ? [write] : [write, end]);
  const found = { answer: boughtAnswer(write, polled.raw), source: 'live', bill } as const;
  if (reading === undefined) return found;
  return { ...found, reading, isPaidElsewhere: end.isEndedBefore === true };
}

/** The looks of a call at one job: those at another, which is gone, have been charged besides. */
function pollIdOf(callId: Digest, start: number): Digest {
  return digest(`[${IDENTITY_FORMAT},"poll","${callId}",${start}]`);
}

/** Undefined where the tool cannot read the answer: whoever gets it says so. */
function readingOf({ tool, input }: Question, raw: RawAnswer): Reading | undefined {
  try {
    return readAnswer(tool, input, raw);
  } catch (error) {
    if (error instanceof ContractBroken) return undefined;
    throw error;
  }
}

/** It may still be done, and then costs what it costs; a later try asks for the same job. */
function overdue({ job }: Asked, { handle, at, bill }: StartedJob): NotAnswered {
  bill?.leave();
  const since = new Date(at).toISOString();
  const message = `the job ${handle}, which was started at ${since}, was not done within ${job.timeoutMs} ms`;
  const failure: Failure = { ending: 'ambiguous', networkKind: 'timeout', message };
  return new NotAnswered(failure, { tries: 1, refusals: 0, durationMs: job.timeoutMs, source: 'live' });
}
