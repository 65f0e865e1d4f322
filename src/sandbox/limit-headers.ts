import type { LimitSpelling } from './types.ts';

export interface ResetFacts {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Milliseconds until the next request may succeed. */
  readonly waitMs: number;
  /** The quota that was exceeded. */
  readonly calls: number;
  readonly perMs: number;
}

/** The headers that tell a client when to come back. Whole seconds are rounded up: coming back then never is too early. */
export function limitHeaders(spelling: LimitSpelling, facts: ResetFacts): Record<string, string> {
  const seconds = String(Math.max(1, Math.ceil(facts.waitMs / 1000)));
  const resetAt = facts.now + facts.waitMs;
  const xRateLimit = (reset: number | string): Record<string, string> => ({
    'x-ratelimit-limit': String(facts.calls),
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(reset),
  });
  switch (spelling) {
    case 'retry-after-seconds':
      return { 'retry-after': seconds };
    case 'retry-after-date':
      return { 'retry-after': new Date(Math.ceil(resetAt / 1000) * 1000).toUTCString() };
    case 'ratelimit-ietf':
      return {
        'ratelimit-policy': `"default";q=${facts.calls};w=${Math.max(1, Math.ceil(facts.perMs / 1000))}`,
        ratelimit: `"default";r=0;t=${seconds}`,
      };
    case 'ratelimit-ietf-legacy':
      return { 'ratelimit-limit': String(facts.calls), 'ratelimit-remaining': '0', 'ratelimit-reset': seconds };
    case 'x-ratelimit-reset-epoch-s':
      return xRateLimit(Math.ceil(resetAt / 1000));
    case 'x-ratelimit-reset-epoch-ms':
      return xRateLimit(Math.ceil(resetAt));
    case 'x-ratelimit-reset-delta-s':
      return xRateLimit(seconds);
    case 'none':
      return {};
  }
}
