import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import {
  CallsheetError,
  InDoubtError,
  isProviderUnavailable,
  ProviderExhaustedError,
  ProviderTransientError,
  ToolExecutionError,
} from '../sdk/index.ts';
import type { Failure } from '../tool/index.ts';
import { failureError, freezeError, thawError } from './failure.ts';
import type { Question } from './question.ts';

function asked(more: { effect?: string; keyed?: boolean } = {}): Question {
  const { effect = 'read', keyed = false } = more;
  const tool = {
    id: 'acme.find',
    provider: 'acme',
    account: { key: 'acme/default' },
    secrets: ['ACME_KEY'],
    sendsIdempotencyKey: keyed,
  };
  return { label: 'look', tool, effect, callId: 'c1', scope: { runId: 'run_1' } } as unknown as Question;
}

const failed = (more: Partial<Failure>): Failure => ({ ending: 'rejected', message: 'acme said no', ...more });
const codeOf = (failure: Partial<Failure>): string => failureError(asked(), failed(failure), 1).code;

describe('the error of an operation that was not answered', () => {
  verifies('DELIVER-ERRORS-1', 'each status and each kind of break has a code of its own', () => {
    const codes = {
      400: 'PROVIDER_VALIDATION',
      401: 'PROVIDER_AUTHENTICATION',
      402: 'PROVIDER_BILLING',
      403: 'PROVIDER_AUTHORIZATION',
      404: 'PROVIDER_NOT_FOUND',
      409: 'PROVIDER_CONFLICT',
      422: 'PROVIDER_VALIDATION',
      418: 'PROVIDER_REJECTED',
    };
    for (const [status, code] of Object.entries(codes)) expect(codeOf({ status: Number(status) })).toBe(code);
    expect(codeOf({ status: 429, ending: 'deferred' })).toBe('PROVIDER_RATE_LIMITED');
    expect(codeOf({ status: 500, ending: 'ambiguous' })).toBe('PROVIDER_UPSTREAM');
    expect(codeOf({ ending: 'ambiguous', networkKind: 'timeout' })).toBe('PROVIDER_TIMEOUT');
    expect(codeOf({ ending: 'ambiguous', networkKind: 'reset' })).toBe('PROVIDER_CONNECTION_LOST');
    expect(codeOf({ ending: 'ambiguous', networkKind: 'truncated', status: 200 })).toBe('PROVIDER_BAD_RESPONSE');
    expect(codeOf({ ending: 'notDispatched', networkKind: 'timeout' })).toBe('PROVIDER_UNREACHABLE');
    expect(codeOf({})).toBe('TOOL_THREW');
  });

  verifies('ERROR-UNAVAILABLE-1', 'only what may pass is the next provider’s turn', () => {
    const of = (failure: Partial<Failure>): boolean => isProviderUnavailable(failureError(asked(), failed(failure), 5));
    expect(of({ status: 429, ending: 'deferred' })).toBe(true);
    expect(of({ status: 500, ending: 'ambiguous' })).toBe(true);
    expect(of({ ending: 'notDispatched', networkKind: 'dns' })).toBe(true);
    // Who has no credits left there is exhausted.
    expect(of({ status: 402 })).toBe(true);
    for (const status of [400, 401, 403, 404, 409, 422]) expect(of({ status })).toBe(false);
  });

  it('names call, tool, tries and what to do', () => {
    const error = failureError(asked(), failed({ status: 401, ending: 'rejected' }), 1);
    expect(error.message).toBe("Call 'look' of acme.find: acme said no.");
    expect(error.next).toEqual(['callsheet secrets set ACME_KEY']);
    expect(failureError(asked(), failed({ status: 500, ending: 'ambiguous' }), 3).message).toContain('(after 3 tries)');
    expect(error).toMatchObject({ origin: 'provider', category: 'authentication', statusCode: 401, provider: 'acme' });
    expect(failureError(asked(), failed({ status: 422 }), 1)).toMatchObject({ origin: 'caller' });
  });

  verifies('RETRY-WRITE-1', 'an ambiguous write is in doubt, unless it carried a key', () => {
    const ambiguous = failed({ ending: 'ambiguous', status: 500 });
    const doubt = failureError(asked({ effect: 'write' }), ambiguous, 1);
    expect(doubt).toBeInstanceOf(InDoubtError);
    expect([doubt.code, doubt.details.callId, isProviderUnavailable(doubt)]).toEqual(['IN_DOUBT', 'c1', false]);
    expect(failureError(asked({ effect: 'write', keyed: true }), ambiguous, 5)).toBeInstanceOf(ProviderTransientError);
  });
});

describe('a failure that is kept and thrown again', () => {
  verifies('CALL-JOURNAL-2', 'keeps its class, code, text, facts and whether a waterfall may go on', () => {
    const facts = {
      tool: 'acme.find',
      provider: 'acme',
      operation: 'look',
      origin: 'provider',
      category: 'rate_limit',
      statusCode: 429,
      requestId: 'r1',
      retryAfterMs: 7,
      networkKind: 'reset',
    } as const;
    const more = { details: { status: 429 }, next: ['wait'], retryable: true };
    const errors = [
      new ToolExecutionError('PROVIDER_NOT_FOUND', 'none', facts, { ...more, retryable: false }),
      new ProviderTransientError('PROVIDER_UPSTREAM', 'later', facts, more),
      new ProviderExhaustedError('no more', facts, '2026-01-01T00:00:00.000Z', more),
      new InDoubtError('IN_DOUBT', 'perhaps', facts, more),
      new CallsheetError('SECRET_MISSING', 'no key', { details: { secret: 'K' }, next: ['set it'] }),
    ];
    for (const error of errors) {
      const again = thawError(freezeError(error));
      expect(again.constructor).toBe(error.constructor);
      expect({ ...again, message: again.message }).toEqual({ ...error, message: error.message });
      expect(isProviderUnavailable(again)).toBe(isProviderUnavailable(error));
      expect(freezeError(again)).toBe(freezeError(error));
    }
  });
});
