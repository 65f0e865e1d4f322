import { RunFatalError, type ToolContractError, type ToolResult } from '../sdk/index.ts';
import { receiptName } from '../store/index.ts';
import { rawOf } from './answer.ts';
import { ContractBroken, type Reading, readAnswer } from './contract.ts';
import type { CallRun } from './env.ts';
import { contractError } from './failure.ts';
import type { Found } from './found.ts';
import { checkOutput } from './output.ts';
import type { Question } from './question.ts';
import { type Answered, journalAnswer, journalFailure } from './record.ts';
import { CallResult } from './result.ts';

interface RawFound {
  readonly found: Found;
  readonly raw: ReturnType<typeof rawOf>;
}

interface Read extends RawFound {
  readonly reading: Reading;
  /** When the answer was there to be read (monotonic ms). */
  readonly began: number;
}

/** Reads an answer that is durable, settles what it cost and gives it to the author: at once where nothing is to be checked. */
export function finish(run: CallRun, question: Question, found: Found): ToolResult | Promise<ToolResult> {
  const began = run.process.clock.monotonic();
  const { answer } = found;
  const raw = rawOf(answer);
  let reading: Reading;
  try {
    reading = found.reading ?? readAnswer(question.tool, question.input, raw);
  } catch (error) {
    const price = error instanceof ContractBroken ? error.price : undefined;
    return unreadable(run, question, { found, error, price });
  }
  if (question.tool.definition.output !== undefined && reading.status === 'completed')
    return checked(run, question, { found, raw, reading, began });
  return settled(run, question, { found, raw, reading, began });
}

async function checked(run: CallRun, question: Question, read: Read): Promise<ToolResult> {
  try {
    await checkOutput(run, question, read.reading.data);
  } catch (error) {
    return unreadable(run, question, { found: read.found, error, price: read.reading.credits });
  }
  return settled(run, question, read);
}

function settled(run: CallRun, question: Question, read: Read): ToolResult | Promise<ToolResult> {
  const { found, reading } = read;
  const { answer, source, bill, isPaidElsewhere = false } = found;
  const ended: Answered = {
    outcome: reading.status === 'completed' ? 'completed' : 'no_result',
    source,
    receiptId: answer.receiptId,
    credits: source === 'live' && !isPaidElsewhere ? reading.credits : 0,
    durationMs: source === 'live' ? answer.durationMs : 0,
    at: answer.at,
    error: null,
    bill,
  };
  const settling = journalAnswer(run, question, ended);
  if (settling instanceof Promise) return settling.then((credits) => resultOf(run, question, { read, ended, credits }));
  return resultOf(run, question, { read, ended, credits: settling });
}

function resultOf(
  run: CallRun,
  { tool, callId }: Question,
  { read, ended, credits }: { readonly read: Read; readonly ended: Answered; readonly credits: number },
): ToolResult {
  const { found, raw, reading, began } = read;
  const { source } = found;
  const { receiptId, receiptKey, at } = found.answer;
  const { durationMs } = ended;
  const facts = { source, receiptId, receiptKey, callId, credits, durationMs, provider: tool.provider, at };
  if (source === 'live') run.timed(tool.id, 'deliver', run.process.clock.monotonic() - began);
  return new CallResult({ tool, reading, raw, facts });
}

async function unreadable(
  run: CallRun,
  question: Question,
  {
    found,
    error,
    price,
  }: {
    readonly found: Found;
    readonly error: unknown;
    /** Undefined where nobody can tell. */
    readonly price: number | undefined;
  },
): Promise<never> {
  const { bill, answer, source, isPaidElsewhere = false } = found;
  const { receiptId, durationMs, at } = answer;
  const told = error instanceof ContractBroken ? breakContract(run, question, { broken: error, receiptId }) : undefined;
  // A run that goes on must not lose sight of what it has paid for.
  if (told !== undefined && source === 'live' && run.process.continueOnContractError) {
    const credits = isPaidElsewhere ? 0 : price;
    const ended = { outcome: 'failed', source, receiptId, durationMs, at, credits: credits ?? 0, error: told } as const;
    const settled = await journalFailure(run, question, ended);
    // What the author's code could not price is unknown until it is mended and read again.
    bill?.charge(credits === undefined ? 'unknown' : settled);
  } else bill?.leave();
  throw told ?? error;
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
