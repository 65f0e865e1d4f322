import { CallResult, readAnswer } from '../call/index.ts';
import { type Execution, type JsonValue, RunFatalError, ToolContractError, type ToolResult } from '../sdk/index.ts';
import type { WaitRecord } from '../store/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { type Asked, armedWait, type EventCall, placeOf } from './event-tool-call.ts';
import { asJson } from './json-result.ts';

interface Over {
  readonly stands: WaitRecord;
  readonly asked: Asked;
}

/**
 * The result of an event tool whose wait is over. Throws EVENT_TIMED_OUT, which ends the run, where nobody answered and
 * the wait's saved policy is 'fail', and TOOL_CONTRACT where the tool's own code cannot read what was answered.
 */
export async function eventResult(context: AttemptContext, call: EventCall, over: Over): Promise<ToolResult> {
  const { question } = call;
  if (over.stands.state === 'timedOut' && over.stands.policy === 'fail') throw timedOut(context, call, over.stands);
  let result: EventResult;
  try {
    const raw = { kind: 'value', value: dataOf(call, over) } as const;
    const execution = executionOf(call, over);
    const reading = readAnswer(question.tool, question.input, raw);
    result = new EventResult(
      { tool: question.tool, reading, raw, facts: { ...execution, at: 0, receiptId: null } },
      execution,
    );
  } catch (error) {
    throw unreadable(context, call, error);
  }
  if (over.stands.state === 'answered') await checkOutput(context, call, result.data);
  return result;
}

/** An answer that came from outside; how it was asked for says what it cost. */
class EventResult extends CallResult {
  readonly #own: Execution;

  constructor(parts: ConstructorParameters<typeof CallResult>[0], execution: Execution) {
    super(parts);
    this.#own = execution;
  }

  override get execution(): Execution {
    return this.#own;
  }
}

function dataOf(call: EventCall, { stands, asked }: Over): JsonValue {
  const { question, event } = call;
  const { input } = question;
  const { armed } = asked;
  const what = `What \`event\` of ${question.tool.id} made of an answer`;
  if (stands.state === 'timedOut') return asJson({ ...event.timedOut?.({ input, armed }), timedOut: true }, what);
  const payload = JSON.parse(stands.payload ?? 'null') as JsonValue;
  if (event.onEvent === undefined) return payload;
  return asJson(event.onEvent({ payload, input, armed, wait: armedWait(call, stands) }), what);
}

function executionOf({ question }: EventCall, { stands, asked }: Over): Execution {
  const { callId, receiptKey, tool } = question;
  const none = { source: 'live', receiptId: null, receiptKey, callId, credits: 0, durationMs: 0 } as const;
  const at = new Date(stands.settledAt ?? stands.armedAt).toISOString();
  return { ...(asked.execution ?? { ...none, provider: tool.provider }), at };
}

function timedOut(context: AttemptContext, { question }: EventCall, wait: WaitRecord): RunFatalError {
  const where = wait.rowKey === null ? '' : ` of row '${wait.rowKey}'`;
  const by = new Date(wait.deadline ?? wait.settledAt ?? 0).toISOString();
  const error = new RunFatalError(
    'EVENT_TIMED_OUT',
    `Nobody answered '${wait.event}'${where} by ${by} (call '${question.label}' of ${question.tool.id}), and the run may not go on without.`,
    {
      details: { event: wait.event, call: question.label, tool: question.tool.id, row: wait.rowKey },
      next: ["Start a new run, or let the call end with 'null' or 'park' when its time is over."],
    },
  );
  context.ending.fatal(error);
  return error;
}

/** The answer is kept as it came; whoever mends the tool and resumes the run reads it again. */
function unreadable(context: AttemptContext, { question }: EventCall, cause: unknown): Error {
  const { tool, label } = question;
  const told = cause instanceof Error ? cause.message : String(cause);
  const message = `Call '${label}' of ${tool.id}: its own code failed on an answer: ${told}. The answer is kept.`;
  const details = { tool: tool.id, call: label };
  const next = [`Mend ${tool.id} (its code, not its input).`, `callsheet runs resume ${context.run.id}`];
  if (!context.calls.process.continueOnContractError) {
    const error = new RunFatalError('TOOL_CONTRACT', message, { details, next, cause });
    context.ending.fatal(error);
    return error;
  }
  const facts = {
    tool: tool.id,
    provider: tool.provider,
    operation: label,
    origin: 'caller',
    category: 'internal',
  } as const;
  return new ToolContractError('TOOL_CONTRACT', message, facts, { details, next, cause });
}

async function checkOutput(context: AttemptContext, { scope, question }: EventCall, data: unknown): Promise<void> {
  const { tool, label } = question;
  const verdict = await tool.validateOutput(data);
  if (verdict === undefined || verdict.ok) return;
  const problem = verdict.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path || 'data'}: ${message}`)
    .join('; ');
  context.emit({
    type: 'call.output',
    level: 'warn',
    message: `Call '${label}' of ${tool.id}: the data do not fit the tool's output schema (${problem}).`,
    ...placeOf(scope),
    data: JSON.stringify({ tool: tool.id, callId: question.callId, issues: verdict.issues.slice(0, 20) }),
  });
}
