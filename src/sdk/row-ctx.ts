import type { JsonObject, JsonValue } from './json.ts';
import type { PlayHandle } from './play-options.ts';
import type { ToolResult } from './result.ts';

export interface CallOptions {
  readonly description?: string;
  /** Ignore stored receipts and buy a new answer. */
  readonly refresh?: boolean;
  /** The old name of `refresh`. */
  readonly force?: boolean;
  /** Accept a stored answer only if it is younger, measured at the run's start. */
  readonly staleAfterSeconds?: number;
  readonly timeoutMs?: number;
  /** 'caller': of a tool with `async` only the start, whose answer has `job_id`; the play asks for the rest by hand. */
  readonly wait?: 'caller';
  /** Accepted for older plays; without effect. */
  readonly receiptWaitMs?: number;
}

export interface CallRequest extends CallOptions {
  /** A label for people; what identifies a call is its content and place. */
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

export interface CtxTools {
  execute<Data = unknown>(request: CallRequest): Promise<ToolResult<Data>>;
  execute<Data = unknown>(id: string, tool: string, input: unknown, options?: CallOptions): Promise<ToolResult<Data>>;
}

const handleBrand: unique symbol = Symbol.for('callsheet.secret') as never;

/** Stands for a secret; its value exists only inside a transport. */
export interface SecretHandle {
  readonly [handleBrand]: true;
  readonly name: string;
}

export interface CtxSecrets {
  get(name: string): SecretHandle;
  /** `Authorization: Bearer …` for `ctx.fetch`. */
  bearer(secret: SecretHandle | string): SecretHandle;
  header(name: string, secret: SecretHandle | string): SecretHandle;
}

export interface StepOptionsForCtx {
  readonly staleAfterSeconds?: number;
  readonly semanticKey?: string;
}

export interface FetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly auth?: SecretHandle | readonly SecretHandle[];
  readonly timeoutMs?: number;
}

export interface FetchOptions {
  readonly staleAfterSeconds?: number;
  /** Never stored: asked again by every attempt. */
  readonly transient?: boolean;
  /** False returns a status outside 2xx instead of throwing `CtxFetchHttpError`. */
  readonly throwOnError?: boolean;
}

export interface FetchResult {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyText: string;
  /** Null where the body is empty or not JSON. */
  readonly json: JsonValue;
}

export interface LogOptions {
  readonly context?: JsonObject;
  readonly level?: 'debug' | 'info' | 'warn' | 'error';
}

export interface EventWait {
  readonly event: string;
  readonly timeout?: string | number;
  readonly onTimeout?: 'null' | 'fail' | 'park';
}

/** What a row's resolvers and steps get; `PlayCtx` adds what only the play itself may do. */
export interface RowCtx {
  readonly run: { readonly id: string; readonly attempt: number };
  /** The same instant on every attempt. */
  now(key?: string): Promise<Date>;
  /** In [0, 1), the same on every attempt. */
  random(key?: string): number;
  uuid(key?: string): string;
  readonly tools: CtxTools;
  tool<Data = unknown>(id: string, tool: string, input: unknown, options?: CallOptions): Promise<ToolResult<Data>>;
  /** Runs `fn` once and keeps its JSON result. */
  step<Value>(id: string, fn: () => Value | Promise<Value>, options?: StepOptionsForCtx): Promise<Value>;
  runSteps<Row, Value>(
    program: StepsProgram<Row, Value>,
    input: Row,
    options?: { readonly description?: string },
  ): Promise<Value>;
  fetch(key: string, url: string, init?: FetchInit, options?: FetchOptions): Promise<FetchResult>;
  sleep(duration: number | string, options?: { readonly key?: string }): Promise<void>;
  waitForEvent<Payload = JsonValue>(key: string, options: EventWait): Promise<Payload>;
  runPlay<Result = unknown>(
    key: string,
    play: PlayHandle | string,
    input: unknown,
    options?: { readonly description?: string },
  ): Promise<Result>;
  runPlayAsync(
    key: string,
    play: PlayHandle | string,
    input: unknown,
    options?: { readonly description?: string },
  ): Promise<{ readonly runId: string; readonly playName: string }>;
  readonly secrets: CtxSecrets;
  log(message: string, options?: LogOptions): void;
}

export interface StepOptions<Row> {
  /** False leaves the step out; its value is null. */
  readonly runIf?: (row: Row) => boolean | Promise<boolean>;
  /** A provider that is unavailable makes the step null instead of failing the row. */
  readonly continueOnProviderUnavailable?: boolean;
}

export type StepFn<Row, Value> = (row: Row, ctx: RowCtx, index: number) => Value | Promise<Value>;

export const programBrand: unique symbol = Symbol.for('callsheet.steps') as never;

export interface StepDefinition {
  readonly name: string;
  readonly body: StepFn<never, unknown> | StepsProgram<never, unknown>;
  readonly options: StepOptions<never>;
}

/** A finished `steps()` program: data, run by a column or by `ctx.runSteps`. */
export interface StepsProgram<Row, Value> {
  readonly [programBrand]: true;
  readonly steps: readonly StepDefinition[];
  readonly finish: (row: Row, ctx: RowCtx) => unknown;
  /** Carries the types only. */
  readonly types?: { readonly row: (row: Row) => void; readonly value: Value };
}
