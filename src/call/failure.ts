import type { Digest, Scope } from '../scope/index.ts';
import {
  CallsheetError,
  type Effect,
  type ErrorCategory,
  type ErrorCode,
  InDoubtError,
  ProviderExhaustedError,
  ProviderTransientError,
  ToolContractError,
  type ToolErrorFacts,
  ToolExecutionError,
} from '../sdk/index.ts';
import { callName } from '../store/index.ts';
import type { CatalogueTool, Failure } from '../tool/index.ts';
import type { ContractBroken } from './contract-broken.ts';

/** What an error says of its call. */
export interface FailedCall {
  readonly tool: CatalogueTool;
  readonly label: string;
  readonly effect: Effect;
  readonly callId: Digest;
  readonly scope: Pick<Scope, 'runId'>;
}

/** How an operation failed, or one member of a batch that was answered. */
export type CallFailure = Failure & { readonly isMember?: true };

interface Kind {
  readonly code: ErrorCode;
  readonly category: ErrorCategory;
}

const BY_STATUS: Readonly<Record<number, Kind>> = {
  400: { code: 'PROVIDER_VALIDATION', category: 'validation' },
  401: { code: 'PROVIDER_AUTHENTICATION', category: 'authentication' },
  402: { code: 'PROVIDER_BILLING', category: 'billing' },
  403: { code: 'PROVIDER_AUTHORIZATION', category: 'authorization' },
  404: { code: 'PROVIDER_NOT_FOUND', category: 'validation' },
  408: { code: 'PROVIDER_TIMEOUT', category: 'network' },
  409: { code: 'PROVIDER_CONFLICT', category: 'conflict' },
  422: { code: 'PROVIDER_VALIDATION', category: 'validation' },
  425: { code: 'PROVIDER_CONFLICT', category: 'conflict' },
  429: { code: 'PROVIDER_RATE_LIMITED', category: 'rate_limit' },
  503: { code: 'PROVIDER_RATE_LIMITED', category: 'rate_limit' },
};

const BY_NETWORK: Readonly<Record<string, ErrorCode>> = {
  dns: 'PROVIDER_UNREACHABLE',
  refused: 'PROVIDER_UNREACHABLE',
  tls: 'PROVIDER_UNREACHABLE',
  reset: 'PROVIDER_CONNECTION_LOST',
  timeout: 'PROVIDER_TIMEOUT',
  truncated: 'PROVIDER_BAD_RESPONSE',
};

function kindOf(failure: CallFailure): Kind {
  if (failure.isMember === true) return memberKind(failure.ending);
  if (failure.ending === 'notDispatched') return { code: 'PROVIDER_UNREACHABLE', category: 'network' };
  const network = failure.networkKind === undefined ? undefined : BY_NETWORK[failure.networkKind];
  if (network !== undefined) return { code: network, category: 'network' };
  const status = failure.status;
  if (status === undefined) return { code: 'TOOL_THREW', category: 'unknown' };
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 500) return { code: 'PROVIDER_UPSTREAM', category: 'upstream' };
  return { code: 'PROVIDER_REJECTED', category: 'validation' };
}

/** The status was that of the whole answer, and says nothing of a member. */
function memberKind(ending: Failure['ending']): Kind {
  if (ending === 'deferred') return { code: 'PROVIDER_RATE_LIMITED', category: 'rate_limit' };
  if (ending === 'ambiguous') return { code: 'PROVIDER_UPSTREAM', category: 'upstream' };
  return { code: 'PROVIDER_REJECTED', category: 'validation' };
}

const NEXT: Partial<Record<ErrorCode, (tool: CatalogueTool) => string>> = {
  PROVIDER_AUTHENTICATION: (tool) => `callsheet secrets set ${tool.secrets[0] ?? 'NAME'}`,
  PROVIDER_AUTHORIZATION: (tool) => `Check what the account ${tool.account.key} may do, then run again.`,
  PROVIDER_BILLING: (tool) => `Top up the account ${tool.account.key}, then run again.`,
};

/** The typed error of an operation that was not answered. */
export function failureError(question: FailedCall, failure: CallFailure, tries: number): CallsheetError {
  if (failure.error !== undefined) return failure.error;
  const { tool, label } = question;
  const { code, category } = kindOf(failure);
  const facts: ToolErrorFacts = {
    tool: tool.id,
    provider: tool.provider,
    operation: label,
    origin:
      code === 'TOOL_THREW'
        ? 'unknown'
        : failure.ending === 'rejected' && category === 'validation'
          ? 'caller'
          : 'provider',
    category,
    statusCode: failure.status,
    requestId: failure.requestId,
    networkKind: failure.networkKind,
  };
  const next = [NEXT[code]?.(tool) ?? 'callsheet runs errors <run>'];
  const details = { status: failure.status, body: failure.bodyText?.slice(0, 500), tries, ending: failure.ending };
  const told = tries > 1 ? ` (after ${tries} tries)` : '';
  const message = `Call '${label}' of ${tool.id}: ${failure.message}${told}.`;
  if (failure.ending === 'rejected') return new ToolExecutionError(code, message, facts, { details, next });
  if (failure.ending === 'ambiguous' && question.effect === 'write' && !tool.sendsIdempotencyKey)
    return inDoubt(question, message, { facts, details });
  return new ProviderTransientError(code, message, facts, { details, next, retryable: true });
}

/** The error of a write that an earlier attempt may have sent. */
export function doubtError(question: FailedCall, why: string): InDoubtError {
  const { tool, label } = question;
  const { id, provider } = tool;
  const facts = { tool: id, provider, operation: label, origin: 'runtime', category: 'unknown' } as const;
  return inDoubt(question, `Call '${label}' of ${id}: ${why}`, { facts, details: { ending: 'ambiguous' } });
}

function inDoubt(
  { callId, scope }: FailedCall,
  message: string,
  { facts, details }: { readonly facts: ToolErrorFacts; readonly details: Readonly<Record<string, unknown>> },
): InDoubtError {
  const resolve = `callsheet runs resolve ${scope.runId} ${callName(callId)} --as`;
  return new InDoubtError('IN_DOUBT', `${message} It may or may not have been done, so it is not sent again.`, facts, {
    details: { ...details, callId },
    next: [
      `Ask the provider whether it was done. If it was not: ${resolve} not-done`,
      `If it was: ${resolve} done --data '<its answer as JSON>'`,
    ],
  });
}

/** The error of a paid answer that the tool's own code cannot read. */
export function contractError(question: FailedCall, broken: ContractBroken, receipt: string): ToolContractError {
  const { tool, label } = question;
  return new ToolContractError(
    'TOOL_CONTRACT',
    `Call '${label}': the tool ${tool.id} cannot read its own answer (${broken.part}: ${broken.message}). The answer is kept as ${receipt} and will not be bought again.`,
    { tool: tool.id, provider: tool.provider, operation: label, origin: 'caller', category: 'internal' },
    {
      details: { part: broken.part, receiptId: receipt },
      next: [`Mend \`${broken.part}\` of ${tool.id}, then: callsheet runs resume <run>`],
      cause: broken,
    },
  );
}

interface FrozenError {
  readonly type: 'rejected' | 'transient' | 'exhausted' | 'doubt' | 'contract' | 'plain';
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly next: readonly string[];
  readonly facts?: ToolErrorFacts;
  readonly retryAt?: string;
}

/** A delivered failure as JSON, so that a replay can throw it again. */
export function freezeError(error: CallsheetError): string {
  const { code, message, retryable, details, next } = error;
  const frozen: FrozenError = { type: 'plain', code, message, retryable, details, next };
  if (!(error instanceof ToolExecutionError)) return JSON.stringify(frozen);
  const { tool, provider, operation, origin, category, statusCode, requestId, retryAfterMs, networkKind } = error;
  const facts = { tool, provider, operation, origin, category, statusCode, requestId, retryAfterMs, networkKind };
  let type: FrozenError['type'] = 'rejected';
  if (error instanceof ProviderTransientError) type = 'transient';
  if (error instanceof ProviderExhaustedError) type = 'exhausted';
  if (error instanceof InDoubtError) type = 'doubt';
  if (error instanceof ToolContractError) type = 'contract';
  return JSON.stringify({
    ...frozen,
    type,
    facts,
    ...(error instanceof ProviderExhaustedError && { retryAt: error.retryAt }),
  });
}

export function thawError(text: string): CallsheetError {
  const { type, code, message, facts, retryAt, ...options } = JSON.parse(text) as FrozenError;
  if (facts === undefined || type === 'plain') return new CallsheetError(code, message, options);
  switch (type) {
    case 'transient':
      return new ProviderTransientError(code, message, facts, options);
    case 'exhausted':
      return new ProviderExhaustedError(message, facts, retryAt ?? '', options);
    case 'doubt':
      return new InDoubtError(code, message, facts, options);
    case 'contract':
      return new ToolContractError(code, message, facts, options);
    case 'rejected':
      return new ToolExecutionError(code, message, facts, options);
  }
}

/** True for a kept failure of a keyed write, or a read, that may have been done and may be asked for again. */
export function isAmbiguousFailure(frozen: string): boolean {
  const { type, details } = JSON.parse(frozen) as FrozenError;
  return type === 'transient' && details.ending === 'ambiguous';
}

/** True for a kept failure that stands until somebody resolves it: what may have been done is not done again unasked. */
export function isFinalFailure(frozen: string): boolean {
  return (JSON.parse(frozen) as FrozenError).type === 'doubt';
}
