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

/** The error of a call whose known wait is longer than it may be put off. */
export function exhausted(
  request: PermitRequest,
  wait: { readonly ms: number; readonly until: number; readonly reason: WaitReason },
): ProviderExhaustedError {
  const retryAt = new Date(wait.until).toISOString();
  const why = wait.reason === 'gate' ? 'it asked us to wait' : 'its declared limit is used up';
  return new ProviderExhaustedError(
    `${request.account.key} takes no call before ${retryAt}: ${why}.`,
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
