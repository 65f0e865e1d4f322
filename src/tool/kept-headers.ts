import type { Redactor } from './redaction.ts';

/**
 * The headers that a raw answer keeps, in lower case: what says how to read the body, which request it was, when to come
 * back, how to go on, and what it cost. Cookies and the rest are dropped.
 */
const KEPT: ReadonlySet<string> = new Set([
  'content-type',
  'content-language',
  'content-disposition',
  'date',
  'etag',
  'last-modified',
  'expires',
  'location',
  'link',
  'retry-after',
  'www-authenticate',
  'request-id',
  'cf-ray',
  'traceparent',
  'deprecation',
  'sunset',
  'warning',
  'idempotent-replayed',
]);

/** Families: the limits in all their spellings, ids, quotas and credits, pagination. */
const KEPT_FAMILIES = [
  'ratelimit',
  'rate-limit',
  'retry-after-',
  'x-rate',
  'x-retry',
  'x-request',
  'x-correlation',
  'x-trace',
  'x-amzn-request',
  'x-amz-request',
  'x-credit',
  'x-quota',
  'x-usage',
  'x-cost',
  'x-total',
  'x-page',
  'x-next',
  'x-per-page',
  'x-idempoten',
];

const LONGEST_VALUE = 2_000;

export function keptHeaders(headers: Readonly<Record<string, string>>, redactor: Redactor): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || !isKept(name)) continue;
    kept[name] = redactor.text(value).slice(0, LONGEST_VALUE);
  }
  return kept;
}

/** Names that were looked at before: every answer of a provider has the same. */
const looked = new Map<string, boolean>();
const MOST_LOOKED = 1_000;

function isKept(name: string): boolean {
  const known = looked.get(name);
  if (known !== undefined) return known;
  if (looked.size >= MOST_LOOKED) looked.clear();
  const kept = KEPT.has(name) || KEPT_FAMILIES.some((family) => name.startsWith(family));
  looked.set(name, kept);
  return kept;
}

/** What the provider calls the request, for a question to its support. */
export function requestIdOf(kept: Readonly<Record<string, string>>): string | undefined {
  return (
    kept['x-request-id'] ?? kept['request-id'] ?? kept['x-amzn-requestid'] ?? kept['x-correlation-id'] ?? kept['cf-ray']
  );
}
