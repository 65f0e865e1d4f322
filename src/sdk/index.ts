export type { BatchMember, FunctionBatch, HttpBatch } from './batch-tool.ts';
export { ERROR_CODES, type ErrorCode } from './codes.ts';
export { type CallsheetConfig, defineConfig, type ProviderConfig } from './config.ts';
export type { CsvOptions, PlayCtx } from './ctx.ts';
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
export type {
  ArmedWait,
  EventHttp,
  EventMessage,
  EventOptions,
  EventRun,
  EventSend,
  EventTimeoutMode,
} from './event-tool.ts';
export type { JobOptions } from './job-tool.ts';
export type { JsonObject, JsonPrimitive, JsonValue } from './json.ts';
export { definePlay, isPlay, type Play, type PlayFn, type PlayObject } from './play.ts';
export { KNOWN_PLAY_OPTIONS, type PlayHandle, type PlayOptions } from './play-options.ts';
export type { AnswerSource, Execution, ExtractedList, ExtractedValue, ToolResult } from './result.ts';
export type {
  CallOptions,
  CallRequest,
  CtxSecrets,
  CtxTools,
  EventWait,
  FetchInit,
  FetchOptions,
  FetchResult,
  LogOptions,
  RowCtx,
  SecretHandle,
  StepDefinition,
  StepFn,
  StepOptions,
  StepOptionsForCtx,
  StepsProgram,
} from './row-ctx.ts';
export type { JsonSchema, SchemaLike } from './schema.ts';
export { isStepsProgram, type StepsBuilder, steps } from './steps.ts';
export {
  type BatchTool,
  type CostView,
  defineTool,
  type EventTool,
  type FunctionTool,
  type HttpTool,
  isTool,
  type JobTool,
  type ProviderLimits,
  type RateLimit,
  type Reconciled,
  type Tool,
  type ToolCost,
  type ToolDefinition,
  type ToolReuse,
} from './tool.ts';
export type { Effect, Ending, HttpRequestSpec, ToolReading, ToolResponseView } from './tool-terms.ts';
