import type { JsonValue } from './json.ts';
import type { Ending, HttpRequestSpec, ToolReading, ToolResponseView } from './tool-terms.ts';

/** The wait that an event tool has armed: what a message has to carry so that the answer finds its way back. */
export interface ArmedWait {
  /** The wait's number: the same on every attempt, and never used twice in a workspace. */
  readonly id: number;
  readonly runId: string;
  /** The event's name, which `callsheet signal --event` takes. */
  readonly event: string;
  /** The row's key as people write it; null outside rows. */
  readonly row: string | null;
  /** When its time is over, in milliseconds since 1970; null for never. */
  readonly deadline: number | null;
}

/** What `arm` and `onTimeout` are given. */
export interface EventMessage<Input> {
  readonly input: Input;
  readonly wait: ArmedWait;
  /**
   * What `arm` brought back; null while it is asked itself, where nothing was sent, and for a card in doubt: nobody knows
   * whether it was sent, so there is nothing to name it by, though an answer may come.
   */
  // biome-ignore lint/suspicious/noExplicitAny: what a provider answered has no type before the author gives it one
  readonly armed: any;
  readonly secret: (name: string) => string;
}

type EventRequestFn<Input> = (
  message: EventMessage<Input> & { readonly baseUrl: string | undefined },
) => HttpRequestSpec;

/** A message over HTTP whose answer needs reading; the options are those of an HTTP tool. */
export interface EventHttp<Input> {
  readonly request: EventRequestFn<Input>;
  readonly noResult?: readonly number[];
  readonly response?: (view: ToolResponseView<Input>) => ToolReading;
  readonly classify?: (view: Omit<ToolResponseView<Input>, 'input'>) => Ending | undefined;
}

/** A message that a function sends; as with a function tool, a thrown error may carry `endsAs`. */
export interface EventRun<Input> {
  readonly run: (
    message: EventMessage<Input> & { readonly signal: AbortSignal; readonly operationKey: string },
  ) => unknown;
}

export type EventSend<Input> = EventRequestFn<Input> | EventHttp<Input> | EventRun<Input>;

/** What becomes of the call once its time is over: see `EventOptions.mode`. */
export type EventTimeoutMode = 'null' | 'fail' | 'park';

type OrOfInput<Input, Value> = Value | ((input: Input) => Value);

export interface EventOptions<Input> {
  /** The event that answers; the tool's id if none is given. */
  readonly name?: OrOfInput<Input, string>;
  /** How long an answer is waited for: a duration such as '3d', or milliseconds; null or undefined for ever. */
  readonly timeout?: OrOfInput<Input, string | number | null | undefined>;
  /**
   * Once the time is over: 'null' (default) ends the call with `{ timedOut: true }`, 'fail' ends the run with an error that
   * nobody can catch, 'park' goes on waiting. Kept with the wait when it is armed, as the timeout is: a later release or
   * another default changes nothing of a wait that is out.
   */
  readonly mode?: OrOfInput<Input, EventTimeoutMode | undefined>;
  /** What is asked, in a sentence: kept once as the run event `approval.asked`. */
  readonly question?: (input: Input) => string;
  /**
   * Sends what asks for the answer, once: a recorded call with the tool's effect, cost, limits and idempotency. A function
   * returns a request like an HTTP tool's; `{ request, response … }` also reads the answer, `{ run }` calls a function.
   * Left out, nothing is sent and somebody signals by himself.
   */
  readonly arm?: EventSend<Input>;
  /**
   * Pure: the call's data out of a signal's payload; the payload itself if left out. Mending it costs nothing. `armed` is
   * null for a card in doubt: read it as `armed?.id`.
   */
  readonly onEvent?: (view: {
    // biome-ignore lint/suspicious/noExplicitAny: a signal's payload is whatever somebody sent
    readonly payload: any;
    readonly input: Input;
    // biome-ignore lint/suspicious/noExplicitAny: as in EventMessage
    readonly armed: any;
    readonly wait: ArmedWait;
  }) => unknown;
  /**
   * The finaliser: takes back what `arm` sent (closes the card) before the time-out counts. A recorded call that must be
   * safe to repeat: while it fails it is tried again, and the wait stays open. Not sent where `arm` brought nothing.
   */
  readonly onTimeout?: EventSend<Input>;
  /** Pure: more fields for the data of a call that timed out, beside `timedOut: true`. */
  // biome-ignore lint/suspicious/noExplicitAny: as in EventMessage
  readonly timedOut?: (view: { readonly input: Input; readonly armed: any }) => Readonly<Record<string, JsonValue>>;
}

const EVENT_OPTIONS: readonly string[] = [
  ...['name', 'timeout', 'mode', 'question', 'arm', 'onEvent', 'onTimeout', 'timedOut'],
];
const FUNCTIONS = ['question', 'onEvent', 'timedOut'] as const;
/** What makes no sense where every call is asked anew and its answer comes from outside. */
const NOT_WITH_EVENT = ['batch', 'async', 'strict', 'reads'] as const;

/** What is wrong with a definition that has `event`, or undefined. */
export function eventProblem(definition: Readonly<Record<string, unknown>>): string | undefined {
  const { event, reuse } = definition;
  const cost = definition.cost as { readonly credits: unknown } | undefined;
  if (typeof event !== 'object' || event === null) return '`event` must be an object';
  const options = event as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(options).find((name) => !EVENT_OPTIONS.includes(name));
  if (unknown !== undefined) return `\`event\` has no option '${unknown}' (there is: ${EVENT_OPTIONS.join(', ')})`;
  for (const name of FUNCTIONS)
    if (options[name] !== undefined && typeof options[name] !== 'function')
      return `\`event.${name}\` must be a function`;
  for (const name of ['arm', 'onTimeout'] as const)
    if (options[name] !== undefined && !isSend(options[name]))
      return `\`event.${name}\` must be a function that returns a request, { request } or { run }`;
  if (options.onTimeout !== undefined && options.arm === undefined)
    return '`event.onTimeout` closes what `event.arm` sends, and there is none';
  const other = NOT_WITH_EVENT.find((name) => definition[name] !== undefined);
  if (other !== undefined) return `\`${other}\` and \`event\` do not go together`;
  if (reuse !== undefined && reuse !== 'never') return "an event tool asks every time: `reuse` can only be 'never'";
  if (cost !== undefined && options.arm === undefined) return 'nothing is sent, so there is no `cost`';
  if (typeof cost?.credits === 'function') return '`cost` of an event tool is a number: the answer comes later';
  return undefined;
}

function isSend(send: unknown): boolean {
  if (typeof send === 'function') return true;
  if (typeof send !== 'object' || send === null) return false;
  const { request, run } = send as { request?: unknown; run?: unknown };
  return (typeof request === 'function') !== (typeof run === 'function');
}
