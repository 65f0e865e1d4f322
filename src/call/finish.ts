import { RunFatalError, type ToolContractError, type ToolResult } from '../sdk/index.ts';
import { receiptName } from '../store/index.ts';
import type { RawAnswer } from '../tool/index.ts';
import type { Found } from './acquire.ts';
import { ContractBroken, type Reading, readAnswer } from './contract.ts';
import type { CallRun } from './env.ts';
import { contractError } from './failure.ts';
import { checkOutput } from './output.ts';
import type { Question } from './question.ts';
import { journalAnswer, journalFailure } from './record.ts';
import { CallResult, executionOf } from './result.ts';

/** Reads an answer that is durable, settles what it cost and gives it to the author. */
export async function finish(run: CallRun, question: Question, found: Found): Promise<ToolResult> {
  const { answer, source } = found;
  const raw = answer.raw ?? (JSON.parse(answer.rawText) as RawAnswer);
  const reading = await readChecked(run, question, { found, raw });
  const credits = source === 'live' ? reading.credits : 0;
  found.settle?.(credits);
  const durationMs = source === 'live' ? answer.durationMs : 0;
  journalAnswer(run, question, {
    outcome: reading.status === 'completed' ? 'completed' : 'no_result',
    source,
    receiptId: answer.receiptId,
    credits,
    durationMs,
    at: answer.at,
    error: null,
  });
  const { tool, callId } = question;
  const { receiptId, receiptKey, at } = answer;
  const execution = executionOf({
    source,
    receiptId,
    receiptKey,
    callId,
    credits,
    durationMs,
    provider: tool.provider,
    at,
  });
  return new CallResult({ tool, reading, raw, execution });
}

async function readChecked(
  run: CallRun,
  question: Question,
  { found, raw }: { readonly found: Found; readonly raw: RawAnswer },
): Promise<Reading> {
  const { tool, input } = question;
  try {
    const reading = found.reading ?? readAnswer(tool, input, raw);
    if (tool.definition.output !== undefined && reading.status === 'completed')
      await checkOutput(run, question, reading.data);
    return reading;
  } catch (error) {
    // What the author's code could not price counts as its highest price until it is mended and read again.
    found.settle?.(tool.maxCredits);
    if (!(error instanceof ContractBroken)) throw error;
    const told = breakContract(run, question, { broken: error, receiptId: found.answer.receiptId });
    // A run that goes on must not lose sight of what it has paid for.
    if (found.source === 'live' && run.process.continueOnContractError) {
      const { receiptId, durationMs, at } = found.answer;
      const paid = { receiptId, durationMs, at, credits: tool.maxCredits };
      await journalFailure(run, question, { outcome: 'failed', source: 'live', ...paid, error: told });
    }
    throw told;
  }
}

/**
 * Turns a contract failure into the call's error. Unless the config says to go on, it also ends the run, so that no
 * further answer is bought that the tool cannot read; nothing is journalled then, so a resume reads the kept answer again.
 */
export function breakContract(
  run: CallRun,
  question: Question,
  { broken, receiptId }: { broken: ContractBroken; receiptId: number | null },
): ToolContractError {
  const error = contractError(question, broken, receiptId === null ? 'a receipt' : receiptName(receiptId));
  if (!run.process.continueOnContractError) {
    const { message, details } = error;
    const next = error.next.map((step) => step.replace('<run>', run.runId));
    run.raiseFatal(new RunFatalError('TOOL_CONTRACT', message, { details, next, cause: error }));
  }
  return error;
}
