import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import {
  CallsheetError,
  CtxFetchHttpError,
  ERROR_CODES,
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
} from './index.ts';

const facts: ToolErrorFacts = {
  tool: 'hunter.find',
  provider: 'hunter',
  operation: 'email',
  origin: 'provider',
  category: 'upstream',
  statusCode: 500,
  requestId: 'req-1',
  retryAfterMs: 2000,
  networkKind: undefined,
};

describe('the hierarchy', () => {
  it('carries code, details, next and cause, with a name that people can read', () => {
    const cause = new Error('below');
    const error = new CallsheetError('USAGE', 'wrong', { details: { row: 3 }, next: ['callsheet --help'], cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'CallsheetError',
      code: 'USAGE',
      message: 'wrong',
      retryable: false,
      details: { row: 3 },
      next: ['callsheet --help'],
      cause,
    });
    expect('cause' in new CallsheetError('USAGE', 'wrong')).toBe(false);
  });

  it('gives tool errors the facts of the call, and keeps details that were given', () => {
    const error = new ToolExecutionError('PROVIDER_UPSTREAM', 'failed', facts, {
      details: { row: 3 },
      retryable: true,
    });
    expect(error).toMatchObject({ ...facts, name: 'ToolExecutionError', retryable: true });
    expect(error.details).toEqual({ row: 3, tool: 'hunter.find', operation: 'email' });
  });

  it('gives each special error its code', () => {
    expect(new ProviderExhaustedError('later', facts, '2026-01-01T00:00:00Z')).toMatchObject({
      code: 'PROVIDER_EXHAUSTED',
      retryAt: '2026-01-01T00:00:00Z',
      retryable: true,
    });
    expect(new NonDeterministicPlayError('x').code).toBe('NON_DETERMINISTIC');
    expect(new StaleAttemptError('x').code).toBe('STALE_ATTEMPT');
    expect(new OutOfCreditsError('x').code).toBe('OUT_OF_CREDITS');
    expect(new SecretLeakError('x').code).toBe('SECRET_LEAK');
    expect(new CtxFetchHttpError('x', 404, 'gone')).toMatchObject({
      code: 'FETCH_HTTP',
      status: 404,
      bodyText: 'gone',
    });
  });

  it('makes run-fatal what nobody can catch, and nothing else', () => {
    for (const error of [new NonDeterministicPlayError('x'), new StaleAttemptError('x'), new OutOfCreditsError('x')])
      expect(error).toBeInstanceOf(RunFatalError);
    expect(new ToolExecutionError('PROVIDER_REJECTED', 'x', facts)).not.toBeInstanceOf(RunFatalError);
  });
});

describe('isProviderUnavailable', () => {
  verifies('ERROR-UNAVAILABLE-1', 'is true for transient and exhausted provider failures only', () => {
    const unavailable = [
      new ProviderTransientError('PROVIDER_UPSTREAM', 'x', facts),
      new ProviderExhaustedError('x', facts, '2026-01-01T00:00:00Z'),
      new ToolExecutionError('PROVIDER_BILLING', 'x', facts),
    ];
    const other = [
      new ToolExecutionError('PROVIDER_AUTHENTICATION', 'x', facts, { retryable: true }),
      new ToolExecutionError('TOOL_INPUT_INVALID', 'x', facts),
      new InDoubtError('IN_DOUBT', 'x', facts),
      new ToolContractError('TOOL_CONTRACT', 'x', facts),
      new OutOfCreditsError('x'),
      new RunFatalError('PERSISTENCE_BREAKER', 'x'),
      new CallsheetError('STORE_FAILED', 'x', { retryable: true }),
      new CtxFetchHttpError('x', 503, ''),
      new Error('ECONNRESET'),
      { code: 'PROVIDER_EXHAUSTED' },
      undefined,
      null,
      'PROVIDER_EXHAUSTED',
    ];
    expect(unavailable.map(isProviderUnavailable)).toEqual([true, true, true]);
    for (const error of other) expect(isProviderUnavailable(error), String(error)).toBe(false);
  });
});

describe('the codes', () => {
  it('are capitals, with a meaning that is a sentence', () => {
    for (const [code, { means }] of Object.entries(ERROR_CODES)) {
      expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(means, code).toMatch(/[.]$/);
    }
  });
});
