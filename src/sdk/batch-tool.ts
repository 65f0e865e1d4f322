import type { HttpRequestSpec, ToolResponseView } from './tool-terms.ts';

/** What a batch's answer says of one member. */
export type BatchMember =
  | { readonly status: 'completed'; readonly data: unknown; readonly meta?: unknown }
  | { readonly status: 'no_result'; readonly data?: unknown; readonly meta?: unknown }
  /** The provider did not answer this one: `rejected` (default) ends its call, `deferred` asks again, `ambiguous` may have been done. */
  | {
      readonly status: 'failed';
      readonly message: string;
      readonly ending?: 'rejected' | 'deferred' | 'ambiguous';
    };

interface BatchCommon {
  /** Questions in one request at most, from 2. */
  readonly maxSize: number;
  /** How long the first question waits for others (ms); default 20. */
  readonly maxWaitMs?: number;
}

/** Many questions in one HTTP request. */
export interface HttpBatch<Input> extends BatchCommon {
  readonly request: (
    inputs: readonly Input[],
    context: { readonly secret: (name: string) => string; readonly baseUrl: string | undefined },
  ) => HttpRequestSpec;
  /** Pure: one outcome for each input, in their order. Runs on reading, so mending it costs nothing. */
  readonly split: (answer: Omit<ToolResponseView<never>, 'input'>, inputs: readonly Input[]) => readonly BatchMember[];
  readonly run?: never;
}

/** Many questions in one call of a function. */
export interface FunctionBatch<Input> extends BatchCommon {
  /** Resolves to JSON data; without `split` to a list with one item for each input, null where there is none. */
  readonly run: (
    inputs: readonly Input[],
    context: {
      readonly signal: AbortSignal;
      readonly secret: (name: string) => string;
      readonly operationKey: string;
    },
  ) => unknown;
  /** Pure: one outcome for each input, in their order. Runs on reading. */
  // biome-ignore lint/suspicious/noExplicitAny: what `run` returned has no type once it is kept
  readonly split?: (value: any, inputs: readonly Input[]) => readonly BatchMember[];
  readonly request?: never;
}

const BATCH_OPTIONS: readonly string[] = ['maxSize', 'maxWaitMs', 'request', 'run', 'split'];

/** What is wrong with the `batch` of a definition, or undefined. */
export function batchProblem(definition: Readonly<Record<string, unknown>>): string | undefined {
  const { batch, request, run } = definition;
  if (typeof batch !== 'object' || batch === null) return '`batch` must be an object';
  const options = batch as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(options).find((name) => !BATCH_OPTIONS.includes(name));
  if (unknown !== undefined) return `\`batch\` has no option '${unknown}' (there is: ${BATCH_OPTIONS.join(', ')})`;
  if (!(Number.isSafeInteger(options.maxSize) && (options.maxSize as number) >= 2))
    return '`batch.maxSize` must be a whole number from 2';
  const { maxWaitMs } = options;
  if (maxWaitMs !== undefined && !(typeof maxWaitMs === 'number' && maxWaitMs >= 0 && maxWaitMs <= 60_000))
    return '`batch.maxWaitMs` must be milliseconds from 0 to 60,000';
  if ((typeof options.request === 'function') === (typeof options.run === 'function'))
    return 'exactly one of `batch.request` and `batch.run` must be a function';
  if (options.request !== undefined && typeof options.split !== 'function') return '`batch.split` must be a function';
  if (options.split !== undefined && typeof options.split !== 'function') return '`batch.split` must be a function';
  const isMixed = options.request === undefined ? request !== undefined : run !== undefined;
  return isMixed ? '`batch` and the tool itself must both use `request`, or both `run`' : undefined;
}
