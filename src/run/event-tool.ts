import { answerQuestion, askQuestion, Planning } from '../call/index.ts';
import { type Armed, durationMs, Halted, type Scope } from '../scope/index.ts';
import {
  CallsheetError,
  type EventOptions,
  InDoubtError,
  type JsonValue,
  ToolExecutionError,
  type ToolResult,
} from '../sdk/index.ts';
import type { NewWait, TimeoutPolicy, WaitRecord } from '../store/index.ts';
import { messageTool } from '../tool/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { boundaryIdentity } from './boundary.ts';
import { type Asked, armedWait, type EventCall, placeOf } from './event-tool-call.ts';
import { takeBack } from './event-tool-close.ts';
import { eventResult } from './event-tool-result.ts';
import { waitFor } from './wait.ts';

/** True where the author's arguments name a tool that waits for an answer from outside. */
export function isEventCall({ deps }: AttemptContext, [first, second]: readonly unknown[]): boolean {
  const id = typeof first === 'string' ? second : (first as { tool?: unknown } | null | undefined)?.tool;
  const { catalogue } = deps.calls;
  return typeof id === 'string' && catalogue.has(id) && catalogue.get(id).definition.event !== undefined;
}

/**
 * A call of an event tool: the wait is armed durably, what asks is sent once as a recorded call, then the scope is
 * suspended until somebody answers or the time is over.
 *
 * Invariants
 *  1. The wait is on disk before anything is sent, since the message carries its number. What is sent is journalled under
 *     the identity of the call, so a later attempt sends nothing.
 *  2. Nothing is sent for a wait that is over.
 *  3. A signal that is older than the question never answers it.
 *  4. A message of which nobody knows whether it arrived is not sent again. The wait goes on: an answer proves it did.
 */
export async function callEventTool(
  context: AttemptContext,
  scope: Scope,
  args: readonly unknown[],
): Promise<Armed<ToolResult>> {
  const asking = askQuestion(context.calls, scope, args);
  const question = asking instanceof Promise ? await asking : asking;
  const event = question.tool.definition.event as unknown as EventOptions<JsonValue>;
  const call: EventCall = { scope, question, event };
  const wait = newWait(context, call);
  if (context.planning !== undefined) planned(context, call);
  const first = await context.waits.arm(scope, wait);
  if (first.armedAt === wait.armedAt) announce(context, call, first);
  const asked = await ask(context, call, first);
  const stands = await waitFor(context, scope, {
    wait,
    beforeTimeout: () => takeBack(context, call, { wait: first, asked }),
  });
  if (stands === 'open') return 'open';
  return { value: await eventResult(context, call, { stands, asked }) };
}

/** Counts what would be sent, and stops: nobody answers a plan. */
function planned(context: AttemptContext, { scope, question, event }: EventCall): void {
  try {
    context.planning?.('event', question.label, scope);
  } finally {
    if (event.arm !== undefined) context.calls.planning?.missed(question);
  }
}

function newWait(context: AttemptContext, call: EventCall): NewWait {
  const { scope, question } = call;
  const { label, tool, input } = question;
  const { key, inputDigest } = boundaryIdentity(scope, { kind: 'event', label, input: { tool: tool.id, input } });
  const now = context.deps.clock.now();
  const timeout = timeoutOf(call);
  return {
    key,
    kind: 'event',
    label,
    path: scope.path,
    inputDigest,
    event: nameOf(call),
    rowKey: scope.rowName,
    deadline: timeout === undefined ? null : now + timeout,
    policy: modeOf(call),
    armedAt: now,
    early: false,
  };
}

function nameOf(call: EventCall): string {
  const { question, event } = call;
  const name: unknown = typeof event.name === 'function' ? event.name(question.input) : event.name;
  if (name === undefined) return question.tool.id;
  if (typeof name === 'string' && name.trim() !== '') return name;
  throw unusable(call, `the event's name ${shown(name)} is none`);
}

function timeoutOf(call: EventCall): number | undefined {
  const { question, event } = call;
  const timeout: unknown = typeof event.timeout === 'function' ? event.timeout(question.input) : event.timeout;
  if (timeout === undefined || timeout === null) return undefined;
  const ms = durationMs(timeout as string | number);
  if (ms === undefined) throw unusable(call, `the timeout ${shown(timeout)} is no duration such as '3d'`);
  return ms;
}

const MODES: readonly unknown[] = ['null', 'fail', 'park'] satisfies TimeoutPolicy[];

function modeOf(call: EventCall): TimeoutPolicy {
  const { question, event } = call;
  const mode: unknown = typeof event.mode === 'function' ? event.mode(question.input) : event.mode;
  if (mode === undefined) return 'null';
  if (MODES.includes(mode)) return mode as TimeoutPolicy;
  throw unusable(call, `what becomes of it after the time-out, ${shown(mode)}, is none of ${MODES.join(', ')}`);
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

function unusable({ question }: EventCall, problem: string): CallsheetError {
  const { label, tool } = question;
  return new CallsheetError('TOOL_INPUT_INVALID', `Call '${label}' of ${tool.id}: ${problem}.`, {
    details: { tool: tool.id, call: label },
    next: [`callsheet tools describe ${tool.id}`],
  });
}

function announce(context: AttemptContext, call: EventCall, wait: WaitRecord): void {
  const { scope, question, event } = call;
  const message = event.question?.(question.input);
  if (message === undefined) return;
  context.emit({
    type: 'approval.asked',
    message: String(message),
    ...placeOf(scope),
    data: JSON.stringify({ tool: question.tool.id, ...armedWait(call, wait) }),
  });
}

const NOTHING: Asked = { armed: null, execution: undefined };

/** Sends what asks, unless the wait is over; then only what an earlier attempt sent counts. */
async function ask(context: AttemptContext, call: EventCall, wait: WaitRecord): Promise<Asked> {
  const { scope, question } = call;
  const tool = messageTool(question.tool, { part: 'arm', wait: armedWait(call, wait), armed: null });
  if (tool === undefined) return NOTHING;
  const isOver = wait.state !== 'open' || (wait.deadline !== null && wait.deadline <= context.deps.clock.now());
  const calls = isOver ? { ...context.calls, planning: new Planning(() => {}) } : context.calls;
  try {
    const { data, execution } = await answerQuestion(calls, { ...question, tool, proved: wait.state === 'answered' });
    return { armed: (data ?? null) as JsonValue, execution };
  } catch (error) {
    if (error instanceof InDoubtError) return inDoubt(context, call, error);
    if (isOver && error instanceof Halted && context.ending.going) return NOTHING;
    // What could not be asked is not waited for.
    if (error instanceof ToolExecutionError && context.ending.going)
      await context.waits.drop(scope, wait.key, context.deps.clock.now());
    throw error;
  }
}

function inDoubt(context: AttemptContext, { scope, question }: EventCall, error: InDoubtError): Asked {
  if (context.calls.journal.firstSight(`in doubt: ${question.callId}`))
    context.emit({
      type: 'event.in_doubt',
      level: 'warn',
      message: `${error.message} The wait goes on: an answer proves that it was.`,
      ...placeOf(scope),
      data: JSON.stringify({ tool: question.tool.id, callId: question.callId, next: error.next }),
    });
  return NOTHING;
}
