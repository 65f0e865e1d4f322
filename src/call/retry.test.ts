import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { isRefusal, retryDecision, type TriesSoFar } from './retry.ts';

const so = (more: Partial<TriesSoFar> = {}): TriesSoFar => ({
  tries: 1,
  maxTries: 5,
  effect: 'read',
  keyed: false,
  ...more,
});

describe('whether an ending may be tried again', () => {
  verifies('RETRY-REJECTED-1', 'what was refused is not asked again, whatever the effect', () => {
    for (const effect of ['read', 'idempotent', 'write'] as const)
      expect(retryDecision('rejected', so({ effect, keyed: true }))).toEqual({ retry: false });
  });

  verifies(
    'RETRY-SAFE-1',
    'what was certainly not done is tried again, writes too, until the tries are used up',
    () => {
      for (const effect of ['read', 'idempotent', 'write'] as const) {
        for (const ending of ['deferred', 'notDispatched'] as const) {
          expect(retryDecision(ending, so({ effect, tries: 4 })).retry).toBe(true);
          expect(retryDecision(ending, so({ effect, tries: 5 }))).toEqual({ retry: false });
        }
      }
    },
  );

  verifies(
    'RETRY-BUDGET-2',
    'a refusal for now draws on the tries of its call, and not on the retries of its run',
    () => {
      expect(retryDecision('deferred', so())).toMatchObject({ counts: true, draws: false });
      for (const ending of ['notDispatched', 'ambiguous'] as const)
        expect(retryDecision(ending, so())).toMatchObject({ counts: true, draws: true });
    },
  );

  it('waits for the gate of the account after a deferral, and backs off after anything else', () => {
    expect(retryDecision('deferred', so())).toMatchObject({ waits: 'gate' });
    expect(retryDecision('notDispatched', so())).toMatchObject({ waits: 'backoff' });
    expect(retryDecision('ambiguous', so())).toMatchObject({ waits: 'backoff' });
  });

  verifies('KEY-OPERATION-2', 'only a definite refusal changes the key', () => {
    for (const ending of ['deferred', 'rejected'] as const) expect(isRefusal(ending)).toBe(true);
    for (const ending of ['notDispatched', 'ambiguous', 'inProgress', 'answered'] as const)
      expect(isRefusal(ending)).toBe(false);
  });

  verifies('RETRY-WRITE-1', 'what may have been done is repeated only where repeating is safe', () => {
    expect(retryDecision('ambiguous', so({ effect: 'write' }))).toEqual({ retry: false });
    expect(retryDecision('ambiguous', so({ effect: 'write', keyed: true })).retry).toBe(true);
    expect(retryDecision('ambiguous', so({ effect: 'idempotent' })).retry).toBe(true);
    expect(retryDecision('ambiguous', so({ effect: 'read', tries: 5 }))).toEqual({ retry: false });
  });

  verifies('RETRY-PROGRESS-1', 'a request that is still at work is waited for, and draws on nothing', () => {
    expect(retryDecision('inProgress', so({ tries: 99 }))).toEqual({
      retry: true,
      counts: false,
      draws: false,
      waits: 'backoff',
    });
  });
});
