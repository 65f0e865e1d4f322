import { Halted } from '../scope/index.ts';
import type { OperationRecord } from '../store/index.ts';
import { batchOf, type CatalogueTool } from '../tool/index.ts';
import { buyInBatch } from './batch-buy.ts';
import { deliver } from './deliver.ts';
import type { CallRun } from './env.ts';
import { type Found, NotAnswered } from './found.ts';
import { endJob, ongoingJob, startJob } from './job.ts';
import { operationKeyOf, type Question } from './question.ts';
import { boughtAnswer, keepAnswer, receiptWrite } from './record.ts';
import type { Unsure } from './tries.ts';

/**
 * The answer that the provider gives now, by whichever way its tool goes: durable, and still to be settled. Rejects with
 * `NotAnswered`.
 *
 * @param before how far an earlier attempt had come with it
 */
export async function buy(run: CallRun, question: Question, before = begun(run, question)): Promise<Found> {
  if (run.planning !== undefined) {
    run.planning.missed(question);
    throw new Halted('a plan buys nothing');
  }
  const job = question.tool.definition.async;
  if (job !== undefined) {
    const asked = { run, question, job };
    return endJob(asked, (await ongoingJob(asked, () => before)) ?? (await startJob(asked, before)));
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
    bought.permit.leave();
    throw error;
  }
  return { answer: boughtAnswer(write, bought.raw), source: 'live', bill: bought.permit };
}

export function begun(run: CallRun, question: Question): OperationRecord | undefined {
  return run.journal.takeOperation(question.scope.place, question.callId);
}

function noteUnsure(
  run: CallRun,
  question: Question,
  { unsure, refusals }: { readonly unsure: Unsure; readonly refusals: number },
): void {
  const { tool, scope, inputDigest, site } = question;
  if (site === undefined || unsure !== true || !isSentAlone(tool)) return;
  const operationKey = operationKeyOf(run, question, refusals);
  run.journal.unsure.add(scope.place, { tool: tool.id, inputDigest, operationKey });
}

/** The key of a batch is that of all its members. */
export function isSentAlone(tool: CatalogueTool): boolean {
  return tool.sendsIdempotencyKey && batchOf(tool) === undefined && tool.definition.async === undefined;
}
