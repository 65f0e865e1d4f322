import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { CallsheetError, RunFatalError } from '../sdk/index.ts';
import { type Outcome, outcomeOf } from './outcome.ts';

const fatal = new RunFatalError('OUT_OF_CREDITS', 'out');

describe('how an attempt ended', () => {
  verifies('ERROR-FATAL-1', 'a fatal error stands over what the play returned, threw or has not done yet', () => {
    const reason = { kind: 'fatal', error: fatal } as const;
    const settled = [
      { kind: 'returned', result: 1 },
      { kind: 'threw', error: new Error('mine') },
      { kind: 'pending' },
    ] as const;
    for (const how of settled) expect(outcomeOf(how, reason)).toEqual({ kind: 'failed', error: fatal });
  });

  it('an interruption or a cancellation stands over a result', () => {
    expect(outcomeOf({ kind: 'returned', result: 1 }, { kind: 'interrupted' })).toEqual({ kind: 'interrupted' });
    expect(outcomeOf({ kind: 'threw', error: 1 }, { kind: 'cancelled' })).toEqual({ kind: 'cancelled' });
  });

  it('a result completes, and an error of ours fails as it is', () => {
    expect(outcomeOf({ kind: 'returned', result: { a: 1 } }, undefined)).toEqual({
      kind: 'completed',
      result: { a: 1 },
    });
    const own = new CallsheetError('FILE_EMPTY', 'empty');
    expect(outcomeOf({ kind: 'threw', error: own }, undefined)).toEqual({ kind: 'failed', error: own });
  });

  it('anything else that was thrown is PLAY_THREW', () => {
    const error = new TypeError('x is not a function');
    const failed = outcomeOf({ kind: 'threw', error }, undefined) as Outcome & { kind: 'failed' };
    expect(failed.error.code).toBe('PLAY_THREW');
    expect(failed.error.message).toContain('TypeError: x is not a function');
    expect(failed.error.cause).toBe(error);
    const odd = outcomeOf({ kind: 'threw', error: 'just text' }, undefined) as Outcome & { kind: 'failed' };
    expect(odd.error.message).toContain('just text');
  });
});
