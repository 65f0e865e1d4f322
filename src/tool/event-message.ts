import type {
  ArmedWait,
  EventHttp,
  EventOptions,
  EventRun,
  EventSend,
  FunctionTool,
  HttpTool,
  JsonValue,
  Tool,
} from '../sdk/index.ts';
import type { CatalogueTool } from './port.ts';

type Send = EventSend<never>;

/** Which message of an event tool, and what it is about. */
export interface MessageOf {
  /** 'arm' asks; 'onTimeout' takes back what 'arm' sent. */
  readonly part: 'arm' | 'onTimeout';
  readonly wait: ArmedWait;
  readonly armed: JsonValue;
}

/** True where a message goes out over HTTP; false for a function, and where there is none. */
export function sendsRequest(send: Send | undefined): boolean {
  return typeof send === 'function' || (typeof send === 'object' && 'request' in send);
}

/**
 * One message of an event tool as a tool of its own, so that it is paced, recorded and paid like any call. The question is
 * under the tool's id, the finaliser under `<id>:timeout`, since a count of one must not count the other. Undefined where the tool sends
 * no such message.
 */
export function messageTool(tool: CatalogueTool, about: MessageOf): CatalogueTool | undefined {
  const send = (tool.definition.event as EventOptions<never> | undefined)?.[about.part];
  if (send === undefined) return undefined;
  const closes = about.part === 'onTimeout';
  const definition = closes ? closing(tool.definition, send, about) : asking(tool.definition, send, about);
  const { version, provider, account, description, timeoutMs, maxTries, maxCredits, secrets } = tool;
  return {
    id: definition.id,
    ...{ version, provider, account, description, timeoutMs, maxTries, secrets, definition },
    get digest() {
      return tool.digest;
    },
    isFunction: !sendsRequest(send),
    reuseScope: 'never',
    staleAfterSeconds: undefined,
    versions: [version],
    maxCredits: closes ? 0 : maxCredits,
    sendsIdempotencyKey: definition.idempotency !== undefined,
    effectOf: closes ? () => 'idempotent' : (input) => tool.effectOf(input),
    // It was validated when the event tool itself was asked.
    validateInput: (input) => ({ ok: true, value: input as JsonValue }),
    validateOutput: () => undefined,
  };
}

function asking({ event: _event, extract: _extract, output: _output, ...definition }: Tool, send: Send, of: MessageOf) {
  return { ...definition, ...transported(send, of) } as Tool;
}

/** Costs nothing, and nobody asks what became of it: it may go out again. */
function closing(definition: Tool, send: Send, about: MessageOf): Tool {
  const { cost: _cost, reconcile: _reconcile, ...rest } = asking(definition, send, about);
  return { ...rest, id: `${definition.id}:timeout`, effect: 'idempotent' } as Tool;
}

type Transported =
  | Pick<HttpTool<never>, 'request' | 'noResult' | 'response' | 'classify'>
  | Pick<FunctionTool<never>, 'run'>;

/** The parts of an HTTP or function tool that send this message. */
function transported(send: Send, { wait, armed }: MessageOf): Transported {
  if (typeof send === 'object' && 'run' in send) {
    const { run } = send as EventRun<never>;
    return {
      run: (input, { signal, secret, operationKey }) => run({ input, wait, armed, secret, signal, operationKey }),
    };
  }
  const { request, ...reading } = typeof send === 'function' ? { request: send } : (send as EventHttp<never>);
  return { request: ({ input, secret, baseUrl }) => request({ input, wait, armed, secret, baseUrl }), ...reading };
}
