import { answerQuestion, type Question } from '../call/index.ts';
import { retryDelay } from '../governor/index.ts';
import { digest, sleep } from '../scope/index.ts';
import { isProviderUnavailable, RunFatalError, ToolExecutionError } from '../sdk/index.ts';
import type { WaitRecord } from '../store/index.ts';
import { type CatalogueTool, messageTool } from '../tool/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { type Asked, armedWait, type EventCall, placeOf } from './event-tool-call.ts';

/** How often an attempt tries in vain to take a message back, by whether that may pass by itself. */
const TRIES = { passing: 10, lasting: 3 } as const;

/**
 * The finaliser of a wait whose time is over: takes back what was sent. Resolves once that is done, and where there is
 * nothing to take back or somebody has answered meanwhile. Each try is a recorded call of its own, so that a later attempt
 * goes on where this one stopped. Where it keeps failing the run ends with the wait still open: whoever mends the cause
 * resumes it.
 */
export async function takeBack(
  context: AttemptContext,
  call: EventCall,
  { wait, asked }: { readonly wait: WaitRecord; readonly asked: Asked },
): Promise<void> {
  const { question } = call;
  const { calls, deps } = context;
  const about = { part: 'onTimeout', wait: armedWait(call, wait), armed: asked.armed } as const;
  const tool = asked.armed === null ? undefined : messageTool(question.tool, about);
  if (tool === undefined) return;
  for (let tryNo = 1, inVain = 0; ; tryNo++) {
    if (await isAnswered(context, wait)) return;
    const once = tryOf(question, tool, tryNo);
    const isReplay = calls.journal.entry(once.scope.place, once.callId) !== undefined;
    try {
      await answerQuestion(calls, once);
      return;
    } catch (error) {
      if (!(error instanceof ToolExecutionError)) throw error;
      if (isReplay) continue;
      inVain++;
      if (inVain >= (isProviderUnavailable(error) ? TRIES.passing : TRIES.lasting)) throw given(context, call, error);
      warn(context, call, error);
      await sleep(deps.clock, retryDelay(inVain, deps.chance), calls.halt);
    }
  }
}

/** What this attempt knows of the wait may be older than an answer. */
async function isAnswered({ deps, run }: AttemptContext, { place, key }: WaitRecord): Promise<boolean> {
  const { datasetNo, ordinal } = place;
  const waits = (await deps.store.runs.waits(run.no, datasetNo, [ordinal])).get(ordinal) ?? [];
  return waits.some((wait) => wait.key === key && wait.state === 'answered');
}

function tryOf(question: Question, tool: CatalogueTool, tryNo: number): Question {
  const callId = question.scope.identity('call', `"${question.callId}","timeout",${tryNo}`);
  return {
    ...question,
    ...{ tool, effect: 'idempotent', callId, site: undefined, olderKeys: [], shared: false, notBefore: undefined },
    receiptKey: digest(`["timeout","${question.receiptKey}","${callId}"]`),
    timeoutMs: tool.timeoutMs,
  };
}

function warn(context: AttemptContext, { scope, question }: EventCall, error: ToolExecutionError): void {
  context.emit({
    type: 'event.not_closed',
    level: 'warn',
    message: `The time of '${question.label}' is over, but what was sent could not be taken back: ${error.message} It is tried again, and the wait stays open.`,
    ...placeOf(scope),
    data: JSON.stringify({ tool: question.tool.id, code: error.code }),
  });
}

function given(context: AttemptContext, call: EventCall, cause: ToolExecutionError): RunFatalError {
  const { scope, question } = call;
  const where = scope.rowName === null ? '' : ` of row '${scope.rowName}'`;
  const error = new RunFatalError(
    cause.code,
    `The time of '${question.label}'${where} is over, but what ${question.tool.id} sent cannot be taken back: ${cause.message} The wait stays open.`,
    {
      details: { ...cause.details, row: scope.rowName },
      next: [...cause.next, `callsheet runs resume ${context.run.id}`],
      cause,
    },
  );
  context.ending.fatal(error);
  return error;
}
