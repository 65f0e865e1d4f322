export { ERROR_CODES, type ErrorCode } from './codes.ts';
export { type CallsheetConfig, defineConfig, type ProviderConfig } from './config.ts';
export type {
  CallOptions,
  CallRequest,
  CsvOptions,
  CtxSecrets,
  CtxTools,
  EventWait,
  FetchInit,
  FetchOptions,
  FetchResult,
  LogOptions,
  PlayCtx,
  RowCtx,
  SecretHandle,
  StepOptionsForCtx,
} from './ctx.ts';
export type {
  ColumnFn,
  ColumnOptions,
  ColumnSpec,
  DatasetBuilder,
  DatasetItems,
  DatasetRunOptions,
  PlayDataset,
  PlayDatasetView,
  RowKey,
} from './dataset.ts';
export {
  CallsheetError,
  CtxFetchHttpError,
  type ErrorCategory,
  type ErrorOptionsWithDetails,
  type ErrorOrigin,
  InDoubtError,
  isProviderUnavailable,
  NonDeterministicPlayError,
  OutOfCreditsError,
  ProviderExhaustedError,
  ProviderTransientError,
  RunFatalError,
  SecretLeakError,
  StaleAttemptError,
  ToolContractError,
  type ToolErrorFacts,
  ToolExecutionError,
} from './errors.ts';
export type { JsonObject, JsonPrimitive, JsonValue } from './json.ts';
export {
  definePlay,
  isPlay,
  KNOWN_PLAY_OPTIONS,
  type Play,
  type PlayFn,
  type PlayObject,
  type PlayOptions,
} from './play.ts';
export type { AnswerSource, Execution, ExtractedList, ExtractedValue, ToolResult } from './result.ts';
export type { JsonSchema, SchemaLike } from './schema.ts';
export {
  isStepsProgram,
  type StepDefinition,
  type StepFn,
  type StepOptions,
  type StepsBuilder,
  type StepsProgram,
  steps,
} from './steps.ts';
export {
  type CostView,
  defineTool,
  type Effect,
  type Ending,
  type FunctionTool,
  type HttpRequestSpec,
  type HttpTool,
  isTool,
  type ProviderLimits,
  type RateLimit,
  type Tool,
  type ToolCost,
  type ToolDefinition,
  type ToolReading,
  type ToolResponseView,
  type ToolReuse,
} from './tool.ts';
