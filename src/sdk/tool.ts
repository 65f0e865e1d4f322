import { batchProblem, type FunctionBatch, type HttpBatch } from './batch-tool.ts';
import { CallsheetError } from './errors.ts';
import { type EventOptions, eventProblem } from './event-tool.ts';
import { type JobOptions, jobProblem } from './job-tool.ts';
import type { JsonValue } from './json.ts';
import type { SchemaLike } from './schema.ts';
import type { Effect, Ending, HttpRequestSpec, ToolReading, ToolResponseView } from './tool-terms.ts';

export interface RateLimit {
  readonly calls: number;
  /** A duration: '1s', '1m', '1h', '1d', or milliseconds. */
  readonly per: string | number;
  /** Space the calls evenly instead of letting a window's worth go at once. */
  readonly smooth?: boolean;
}

export interface ProviderLimits {
  readonly rate?: readonly RateLimit[] | undefined;
  /** Requests in flight at once; adaptive where it is not declared. */
  readonly concurrency?: number | undefined;
}

export interface CostView<Input> {
  readonly status: 'completed' | 'no_result' | 'pending';
  readonly data: unknown;
  readonly input: Input;
  readonly httpStatus: number | undefined;
}

export interface ToolCost<Input> {
  /** Credits for one call (`per: 'call'`) or one result (`per: 'result'`), or a function of what was answered. */
  readonly credits: number | ((view: CostView<Input>) => number);
  /** 'call' (default): every answer costs; 'result': only a completed one does. */
  readonly per?: 'call' | 'result';
  /** The highest possible cost; required where `credits` is a function. */
  readonly max?: number;
}

export interface ToolReuse {
  readonly scope?: 'workspace' | 'play' | 'run';
  /** Seconds after which a receipt is no longer good enough. */
  readonly staleAfterSeconds?: number;
}

/** What a provider says about a write that may have been done. */
export type Reconciled =
  /** It was done; `data` is what the call answers with. */
  | { readonly status: 'done'; readonly data?: unknown }
  /** It was certainly not done: it is sent again. */
  | { readonly status: 'notDone' }
  /** The provider cannot tell: the call stays in doubt. */
  | { readonly status: 'unknown' };

interface ToolCommon<Input> {
  /** `provider.action`; a name without a dot where `provider` is given. */
  readonly id: string;
  readonly provider?: string;
  readonly version?: string;
  readonly description?: string;
  readonly effect: Effect | ((input: Input) => Effect);
  readonly input: SchemaLike<Input>;
  readonly output?: SchemaLike;
  /** True makes an output that does not fit `output` a contract error instead of a warning. */
  readonly strict?: boolean;
  readonly secrets?: readonly string[];
  /** Names an author can read whatever the provider's shape: a path such as 'data.people[0].email'. */
  readonly extract?: Readonly<Record<string, string | ((data: unknown) => unknown)>>;
  readonly cost?: ToolCost<Input>;
  readonly limits?: ProviderLimits;
  readonly idempotency?: { readonly header: string };
  /** Earlier versions whose receipts are still good. */
  readonly reads?: readonly string[];
  readonly reuse?: ToolReuse | 'never';
  /** Milliseconds; default 60,000. */
  readonly timeoutMs?: number;
  /** How often one call is tried in all; default 5. */
  readonly maxTries?: number;
  /**
   * Asks the provider what became of a write that may have been sent by an attempt which died, before anybody sends it
   * again. `operationKey` is the key of that request. Anything thrown, or a time-out, counts as `unknown`.
   */
  readonly reconcile?: (
    input: Input,
    operationKey: string,
    context: { readonly signal: AbortSignal; readonly secret: (name: string) => string },
  ) => Reconciled | Promise<Reconciled>;
}

interface HttpReading<Input> {
  /** Statuses that mean "asked, and there is none". */
  readonly noResult?: readonly number[];
  /** Pure; sees 2xx and `noResult` answers only; runs on reading, so mending it costs nothing. */
  readonly response?: (view: ToolResponseView<Input>) => ToolReading;
  /** Overrides how a status is classified; undefined leaves it to the default. */
  readonly classify?: (view: Omit<ToolResponseView<Input>, 'input'>) => Ending | undefined;
}

export interface HttpTool<Input> extends ToolCommon<Input>, HttpReading<Input> {
  readonly request: (args: {
    readonly input: Input;
    readonly secret: (name: string) => string;
    readonly baseUrl: string | undefined;
  }) => HttpRequestSpec;
  /** Many questions in one request; a single one that is left goes out by `request`. */
  readonly batch?: HttpBatch<Input>;
  readonly async?: never;
  readonly run?: never;
  readonly event?: never;
}

export interface FunctionTool<Input> extends ToolCommon<Input> {
  /** Resolves to JSON data; null or undefined is `no_result`. A thrown error may carry `endsAs: Ending`. */
  readonly run: (
    input: Input,
    context: {
      readonly signal: AbortSignal;
      readonly secret: (name: string) => string;
      readonly operationKey: string;
    },
  ) => unknown;
  /** Many questions in one call; a single one that is left goes to `run`. */
  readonly batch?: FunctionBatch<Input>;
  readonly async?: never;
  readonly request?: never;
  readonly event?: never;
}

/** A tool that has no single request: a question that nobody joins is a batch of one. */
export interface BatchTool<Input> extends ToolCommon<Input>, Pick<HttpReading<Input>, 'noResult' | 'classify'> {
  readonly batch: HttpBatch<Input> | FunctionBatch<Input>;
  readonly async?: never;
  readonly request?: never;
  readonly run?: never;
  readonly event?: never;
}

/** A tool whose provider works on it for a while: started, then polled until it is there. */
export interface JobTool<Input> extends ToolCommon<Input>, HttpReading<Input> {
  readonly async: JobOptions<Input>;
  readonly batch?: never;
  readonly request?: never;
  readonly run?: never;
  readonly event?: never;
}

/** A tool that asks somebody and waits for the answer: its call suspends the row, or the run, until then. */
export interface EventTool<Input> extends ToolCommon<Input> {
  readonly event: EventOptions<Input>;
  readonly batch?: never;
  readonly async?: never;
  readonly request?: never;
  readonly run?: never;
}

export type ToolDefinition<Input = unknown> =
  | HttpTool<Input>
  | FunctionTool<Input>
  | BatchTool<Input>
  | JobTool<Input>
  | EventTool<Input>;

const TOOL_OPTIONS: readonly string[] = [
  ...['id', 'provider', 'version', 'description', 'effect', 'input', 'output', 'strict', 'secrets', 'extract', 'cost'],
  ...[
    'limits',
    'idempotency',
    'reads',
    'reuse',
    'timeoutMs',
    'maxTries',
    'request',
    'noResult',
    'response',
    'classify',
  ],
  ...['run', 'batch', 'async', 'event', 'reconcile'],
];

const toolBrand: unique symbol = Symbol.for('callsheet.tool') as never;

/** A tool as the catalogue takes it. The input type is erased: the catalogue validates before it calls. */
export type Tool = ToolDefinition<never> & { readonly [toolBrand]: true };

/** Declares one action of a provider. Throws `TOOL_DEFINITION_INVALID` where the definition cannot work. */
export function defineTool<Input = JsonValue>(definition: ToolDefinition<Input>): Tool {
  const refuse = (problem: string): never => {
    const name = typeof definition?.id === 'string' ? definition.id : '(no id)';
    throw new CallsheetError('TOOL_DEFINITION_INVALID', `Tool ${name}: ${problem}.`, {
      details: { tool: name },
      next: ['Mend the defineTool call and run again.'],
    });
  };
  if (typeof definition !== 'object' || definition === null) return refuse('defineTool takes an object');
  if (typeof definition.id !== 'string' || !/^[^\s.]+(\.[^\s.]+)*$/.test(definition.id))
    return refuse("`id` must be 'provider.action', such as 'hunter.email_finder'");
  if (!definition.id.includes('.') && definition.provider === undefined)
    return refuse("`id` must be 'provider.action', such as 'hunter.email_finder', or `provider` must be given");
  const effectOk =
    typeof definition.effect === 'function' || ['read', 'idempotent', 'write'].includes(definition.effect as string);
  if (!effectOk) return refuse("`effect` must be 'read', 'idempotent' or 'write', or a function of the input");
  if (definition.input === undefined || definition.input === null) return refuse('`input` (a schema) is required');
  if (kindsOf(definition as unknown as Given) !== 1)
    return refuse('exactly one of `request` and `run` must be a function, or `batch`, `async` or `event` be given');
  if (definition.cost && typeof definition.cost.credits === 'function' && definition.cost.max === undefined)
    return refuse('a cost that is a function must declare its `max`');
  const unknown = Object.keys(definition).filter((name) => !TOOL_OPTIONS.includes(name));
  if (unknown.length > 0)
    return refuse(
      `it has no option ${unknown.map((name) => `'${name}'`).join(', ')} (there is: ${TOOL_OPTIONS.join(', ')})`,
    );
  if (definition.reconcile !== undefined && typeof definition.reconcile !== 'function')
    return refuse('`reconcile` must be a function');
  const wrong = partProblem(definition as unknown as Given);
  if (wrong !== undefined) return refuse(wrong);
  return Object.freeze({ ...definition, [toolBrand]: true as const }) as unknown as Tool;
}

/** In how many ways a definition says how its calls go out; a batch beside a single request is one. */
function kindsOf({ request, run, event, async: job, batch }: Given): number {
  const isSingle = typeof request === 'function' || typeof run === 'function';
  const kinds = [typeof request === 'function', typeof run === 'function', event !== undefined, job !== undefined];
  return kinds.filter(Boolean).length + (batch !== undefined && !isSingle ? 1 : 0);
}

/** What is wrong with the part of a definition that has options of its own. */
function partProblem(definition: Given): string | undefined {
  if (definition.event !== undefined) return eventProblem(definition);
  if (definition.async !== undefined) return jobProblem(definition);
  if (definition.batch !== undefined) return batchProblem(definition);
  return undefined;
}

type Given = Readonly<Record<string, unknown>>;

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[toolBrand] === true;
}
