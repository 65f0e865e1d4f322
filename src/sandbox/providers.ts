import type { RateLimit } from '../sdk/index.ts';
import type { LimitSpelling, SandboxProvider } from './types.ts';

export interface ProviderTerms {
  readonly rate: readonly RateLimit[];
  readonly concurrency: number;
  readonly spelling: LimitSpelling;
}

const perSecond = (calls: number): readonly RateLimit[] => [{ calls, per: '1s' }];

/**
 * What each provider declares. Far above what the real trade allows, so that a demo of 600 rows takes seconds; each
 * spells its 429 in another way, so that together they cover what a client has to read.
 */
export const PROVIDER_TERMS: Readonly<Record<SandboxProvider, ProviderTerms>> = {
  hunter: { rate: perSecond(200), concurrency: 100, spelling: 'retry-after-seconds' },
  prospeo: { rate: perSecond(200), concurrency: 100, spelling: 'retry-after-date' },
  dropcontact: { rate: perSecond(200), concurrency: 100, spelling: 'ratelimit-ietf' },
  zerobounce: { rate: perSecond(200), concurrency: 100, spelling: 'x-ratelimit-reset-epoch-s' },
  apollo: { rate: perSecond(200), concurrency: 100, spelling: 'x-ratelimit-reset-epoch-ms' },
  clearbit: { rate: perSecond(200), concurrency: 100, spelling: 'x-ratelimit-reset-delta-s' },
  findymail: { rate: perSecond(50), concurrency: 20, spelling: 'retry-after-seconds' },
  icypeas: { rate: perSecond(200), concurrency: 100, spelling: 'ratelimit-ietf-legacy' },
  messages: { rate: perSecond(100), concurrency: 50, spelling: 'retry-after-seconds' },
  llm: { rate: perSecond(100), concurrency: 50, spelling: 'retry-after-seconds' },
};

export const PROVIDERS = Object.keys(PROVIDER_TERMS) as readonly SandboxProvider[];

export const LIMIT_SPELLINGS: readonly LimitSpelling[] = [
  'retry-after-seconds',
  'retry-after-date',
  'ratelimit-ietf',
  'ratelimit-ietf-legacy',
  'x-ratelimit-reset-epoch-s',
  'x-ratelimit-reset-epoch-ms',
  'x-ratelimit-reset-delta-s',
  'none',
];
