import type { ErrorCode } from './codes.ts';

export interface ErrorOptionsWithDetails {
  /** Machine-readable facts: row, call, file, field … JSON only, never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Commands or actions that mend it, most useful first. */
  readonly next?: readonly string[];
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** Base of every error that Callsheet throws. `code` is stable and documented in docs/errors.md. */
export class CallsheetError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly next: readonly string[];

  constructor(code: ErrorCode, message: string, options: ErrorOptionsWithDetails = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.details = options.details ?? {};
    this.next = options.next ?? [];
  }
}

export type ErrorOrigin = 'caller' | 'provider' | 'runtime' | 'unknown';
export type ErrorCategory =
  | 'validation'
  | 'authentication'
  | 'authorization'
  | 'rate_limit'
  | 'network'
  | 'upstream'
  | 'billing'
  | 'conflict'
  | 'internal'
  | 'unknown';

export interface ToolErrorFacts {
  readonly tool: string;
  readonly provider: string;
  /** The id that the author gave the call. */
  readonly operation: string;
  readonly origin: ErrorOrigin;
  readonly category: ErrorCategory;
  readonly statusCode?: number | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds the provider asked us to wait. */
  readonly retryAfterMs?: number | undefined;
  readonly networkKind?: 'dns' | 'refused' | 'tls' | 'reset' | 'timeout' | 'truncated' | undefined;
}

/** A tool call that ended without an answer. */
export class ToolExecutionError extends CallsheetError {
  readonly tool: string;
  readonly provider: string;
  readonly operation: string;
  readonly origin: ErrorOrigin;
  readonly category: ErrorCategory;
  readonly statusCode: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly networkKind: ToolErrorFacts['networkKind'];

  constructor(code: ErrorCode, message: string, facts: ToolErrorFacts, options: ErrorOptionsWithDetails = {}) {
    super(code, message, { ...options, details: { ...options.details, tool: facts.tool, operation: facts.operation } });
    this.tool = facts.tool;
    this.provider = facts.provider;
    this.operation = facts.operation;
    this.origin = facts.origin;
    this.category = facts.category;
    this.statusCode = facts.statusCode;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
    this.networkKind = facts.networkKind;
  }
}

/** The provider failed in a way that may pass: a waterfall leg may go on to the next. */
export class ProviderTransientError extends ToolExecutionError {}

/** The provider's limit allows nothing until `retryAt` (ISO 8601). */
export class ProviderExhaustedError extends ToolExecutionError {
  readonly retryAt: string;
  constructor(message: string, facts: ToolErrorFacts, retryAt: string, options: ErrorOptionsWithDetails = {}) {
    super('PROVIDER_EXHAUSTED', message, facts, { retryable: true, ...options });
    this.retryAt = retryAt;
  }
}

/** A write may have been done; it is not repeated before somebody says which. */
export class InDoubtError extends ToolExecutionError {}

/** The tool's own response, extract or cost code failed on an answer that is paid and kept. */
export class ToolContractError extends ToolExecutionError {}

/** Ends the run whatever the play does with it: the runtime remembers the first one. */
export class RunFatalError extends CallsheetError {}

/** On replay the play differs from what is recorded. */
export class NonDeterministicPlayError extends RunFatalError {
  constructor(message: string, options: ErrorOptionsWithDetails = {}) {
    super('NON_DETERMINISTIC', message, options);
  }
}

/** A newer attempt of the run holds the lease. */
export class StaleAttemptError extends RunFatalError {
  constructor(message: string, options: ErrorOptionsWithDetails = {}) {
    super('STALE_ATTEMPT', message, options);
  }
}

/** The budget does not allow the next call. */
export class OutOfCreditsError extends RunFatalError {
  constructor(message: string, options: ErrorOptionsWithDetails = {}) {
    super('OUT_OF_CREDITS', message, options);
  }
}

/** A secret handle reached a place where its value would be kept. Names the place, never the value. */
export class SecretLeakError extends CallsheetError {
  constructor(message: string, options: ErrorOptionsWithDetails = {}) {
    super('SECRET_LEAK', message, options);
  }
}

/** `ctx.fetch` got a status outside 200 to 299. */
export class CtxFetchHttpError extends CallsheetError {
  readonly status: number;
  readonly bodyText: string;
  constructor(message: string, status: number, bodyText: string, options: ErrorOptionsWithDetails = {}) {
    super('FETCH_HTTP', message, options);
    this.status = status;
    this.bodyText = bodyText;
  }
}

/**
 * True exactly for transient and exhausted provider failures: what a waterfall leg may treat as "try the next". An account
 * that has no credits left at its provider (402) is exhausted, too.
 */
export function isProviderUnavailable(error: unknown): boolean {
  if (error instanceof ProviderTransientError || error instanceof ProviderExhaustedError) return true;
  return error instanceof ToolExecutionError && error.code === 'PROVIDER_BILLING';
}
