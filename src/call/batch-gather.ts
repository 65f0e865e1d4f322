import type { BatchPlace, OperationRecord } from '../store/index.ts';
import { batchOf } from '../tool/index.ts';
import { ship } from './batch-delivery.ts';
import { askedBefore, askedBy, BatchLoad } from './batch-load.ts';
import { Member, type MemberEnd } from './batch-seat.ts';
import type { DueBatch } from './batches.ts';
import type { CallRun } from './env.ts';
import type { Question } from './question.ts';
import { type Tries, triesAfter } from './tries.ts';

const DEFAULT_WAIT_MS = 20;

/** How the batch that the question joins ends for it. */
export function joined(run: CallRun, question: Question, so: Tries | undefined): Promise<MemberEnd> {
  run.assertGoing();
  const { tool, effect } = question;
  const batch = batchOf(tool);
  if (batch === undefined) return Promise.resolve({ kind: 'alone', so, granted: undefined });
  const { maxWaitMs = DEFAULT_WAIT_MS } = batch;
  const maxSize = run.process.batchSizes.mostOf(tool, batch.maxSize);
  const member = new Member(askedBy(question));
  const gathering = {
    ...{ tool, effect, so, maxSize },
    send: (due: DueBatch) => void ship(run, new BatchLoad({ tool, batch, effect }, due.members, { due }), so),
    afterWait: (over: () => void) => run.process.clock.after(maxWaitMs, over),
  };
  run.batches.join(member, gathering, run.halt);
  return member.ended;
}

/**
 * How the batch that an earlier attempt had on record ends for this question; undefined where not all of it is known, so
 * that the question joins others.
 */
export async function recalled(
  run: CallRun,
  question: Question,
  before: OperationRecord,
): Promise<MemberEnd | undefined> {
  const members = await run.batches.recall(before.operationKey, () => sendAgain(run, question, before));
  const member = members?.find(({ asked }) => asked.callId === before.callId);
  if (member === undefined) return undefined;
  member.isAwaited = true;
  return member.ended;
}

async function sendAgain(
  run: CallRun,
  question: Question,
  before: OperationRecord,
): Promise<readonly Member[] | undefined> {
  const { tool, effect } = question;
  const batch = batchOf(tool);
  const records = await recordedMembers(run, before);
  if (batch === undefined || records === undefined) return undefined;
  const members = records.map((record) => new Member(askedBefore(run, question, record)));
  const unsure = run.tries.isUnsure(before.operationKey);
  void ship(run, new BatchLoad({ tool, batch, effect }, members, { before }), { ...triesAfter(before), unsure });
  return members;
}

type RecordedMember = Awaited<ReturnType<CallRun['process']['reads']['operationsOfBatch']>>[number] & {
  readonly batch: BatchPlace;
};

/** All that went out together under this operation's key, in order; undefined where not all of it is on record. */
async function recordedMembers(run: CallRun, before: OperationRecord): Promise<readonly RecordedMember[] | undefined> {
  for (const runNo of [run.runNo, ...(run.source?.runNos ?? [])]) {
    const records = await run.process.reads.operationsOfBatch(runNo, before.operationKey);
    const whole = records.filter((record, index): record is RecordedMember => record.batch?.index === index);
    if (whole.length > 0 && whole.length === before.batch?.size) return whole;
  }
  return undefined;
}
