import { RunFatalError, type ToolResult } from '../sdk/index.ts';
import type { CallEntry } from '../store/index.ts';
import { rawOf } from './answer.ts';
import { MemberFailed } from './batch-member.ts';
import { ContractBroken, type Reading, readAnswer } from './contract.ts';
import type { CallRun } from './env.ts';
import { failureError, thawError } from './failure.ts';
import { breakContract } from './finish.ts';
import type { Question } from './question.ts';
import { CallResult } from './result.ts';

/** What this run already ended: the same result, its execution included, or the same failure. */
export async function replay(run: CallRun, question: Question, entry: CallEntry): Promise<ToolResult> {
  const { tool, callId } = question;
  const { outcome, source, credits, at, durationMs, receiptId } = entry;
  run.ended({
    tool: tool.id,
    datasetNo: question.scope.place.datasetNo,
    path: entry.path,
    outcome,
    source,
    credits,
    replayed: true,
  });
  run.settlements.add(question.scope.place, credits);
  if (entry.toolDigest !== tool.digest) warnOfChange(run, question);
  if (entry.error !== null) throw thawError(entry.error);
  const answer = receiptId === null ? undefined : await run.process.lookup.byId(receiptId);
  if (answer === undefined)
    throw new RunFatalError(
      'RECEIPT_NOT_FOUND',
      `Call '${question.label}' of ${tool.id} is journalled, but its receipt ${receiptId} is gone.`,
      {
        details: { tool: tool.id, callId, receiptId },
        next: ['Restore the workspace from a copy, or start a new run.'],
      },
    );
  const raw = rawOf(answer);
  const { receiptKey } = answer;
  // What was answered had gone out: only failures are unsent.
  const from = source === 'unsent' ? 'journal' : source;
  const facts = { source: from, receiptId, receiptKey, callId, credits, durationMs, provider: tool.provider, at };
  return new CallResult({ tool, reading: readKept(run, question, { raw, receiptId: answer.receiptId }), raw, facts });
}

function readKept(
  run: CallRun,
  question: Question,
  { raw, receiptId }: { readonly raw: ReturnType<typeof rawOf>; readonly receiptId: number },
): Reading {
  try {
    return readAnswer(question.tool, question.input, raw);
  } catch (error) {
    if (error instanceof ContractBroken) throw breakContract(run, question, { broken: error, receiptId });
    // A `split` that was mended since leaves it out.
    if (error instanceof MemberFailed) throw failureError(question, error.failure, 1);
    throw error;
  }
}

function warnOfChange(run: CallRun, question: Question): void {
  const { tool } = question;
  if (!run.journal.firstSight(tool.id)) return;
  run.event({
    type: 'tool.changed',
    level: 'warn',
    message: `The tool ${tool.id} has changed under version '${tool.version}' since this run began; answers that are kept are read by its code of today.`,
    data: JSON.stringify({ tool: tool.id, version: tool.version }),
  });
}
