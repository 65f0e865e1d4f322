import { ProviderExhaustedError, ProviderTransientError, type ToolErrorFacts } from '../sdk/index.ts';
import type { PermitRequest } from './permit.ts';
import type { WaitReason } from './waiter.ts';

/** A call that can be put off durably must wait so long that it should be. Nothing of it has gone out. */
export class LongWait extends Error {
  /** Milliseconds since the epoch at which it is worth asking again. */
  readonly until: number;
  constructor(account: string, until: number) {
    super(`${account} takes no call before ${new Date(until).toISOString()}`);
    this.until = until;
  }
}

/** For how long a call steps aside that has failed: about as long as the wait for the next probe (ms). */
export const ASIDE_MS = 10_000;

/** What has failed before makes room for others, where its caller can park. */
export function asideOf(request: PermitRequest, now: number): LongWait | undefined {
  return request.hasFailed === true && request.rowWaitMs !== undefined ? aside(request, now) : undefined;
}

export function aside({ account }: PermitRequest, now: number): LongWait {
  return new LongWait(account.key, now + ASIDE_MS);
}

/** What is known of a wait that is too long. */
export interface TooLong {
  readonly ms: number;
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly reason: WaitReason;
  /** For how long every call was refused, where that is too long; else 0. */
  readonly vainMs: number;
}

/** The longest that the gate closes for by itself: what is longer the provider has named. */
const LONGEST_GUESS_MS = 60_000;

/** The error of a call whose known wait is longer than it may be put off, or whose provider has refused all for so long. */
export function exhausted(request: PermitRequest, wait: TooLong): ProviderExhaustedError {
  const retryAt = new Date(wait.until).toISOString();
  return new ProviderExhaustedError(
    `${request.account.key} ${whyExhausted(wait, retryAt)}.`,
    facts(request, 'rate_limit', wait.ms),
    retryAt,
    {
      details: { account: request.account.key, retryAt, reason: wait.reason },
      next: [
        `callsheet runs resume ${request.runId} --retry-failed   (after ${retryAt})`,
        'Or add another provider as a later leg with continueOnProviderUnavailable.',
      ],
    },
  );
}

/** A time that is a guess of ours is never called the provider's. */
function whyExhausted({ ms, reason, vainMs }: TooLong, retryAt: string): string {
  if (ms > LONGEST_GUESS_MS && reason === 'gate') return `takes no call before ${retryAt}: it asked us to wait`;
  if (vainMs > 0)
    return `has refused every call for ${Math.round(vainMs / 1000)} s, and is asked again after ${retryAt}`;
  if (reason !== 'gate') return `takes no call before ${retryAt}: its declared limit is used up`;
  return `has refused calls, and is not asked again before ${retryAt}`;
}

/** The error of a call that is kept away from a failing provider. */
export function unavailable(request: PermitRequest, retryAfterMs: number): ProviderTransientError {
  return new ProviderTransientError(
    'PROVIDER_UNAVAILABLE',
    `${request.account.key} mostly fails at present: it is tried by single calls only until it answers again.`,
    facts(request, 'upstream', retryAfterMs),
    {
      retryable: true,
      details: { account: request.account.key },
      next: [`callsheet runs resume ${request.runId} --retry-failed   (once the provider works again)`],
    },
  );
}

function facts(request: PermitRequest, category: ToolErrorFacts['category'], retryAfterMs: number): ToolErrorFacts {
  const { tool, operation, account } = request;
  return { tool, operation, provider: account.provider, origin: 'provider', category, retryAfterMs };
}
