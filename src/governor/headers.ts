/**
 * How long a provider asks us to wait, read from the headers of a refusal. Pure.
 *
 * Sources
 *  - `Retry-After`, seconds or HTTP-date: RFC 9110 §10.2.3, dates §5.6.7 (three formats, all in GMT).
 *  - `RateLimit-Remaining` / `RateLimit-Reset`: draft-ietf-httpapi-ratelimit-headers-00 to -06.
 *  - `RateLimit: limit=…, remaining=…, reset=…`: the same draft, -07.
 *  - `RateLimit: "name";r=…;t=…` and `RateLimit-Policy: "name";q=…;w=…`: the same draft, -08 and later. All revisions say
 *    that Retry-After goes before the RateLimit fields.
 *  - `X-RateLimit-Reset` has no specification: GitHub and Smartsheet document epoch seconds, others epoch milliseconds,
 *    delta seconds or a date (lemlist, MailerLite); Discord documents `X-RateLimit-Reset-After` in delta seconds.
 */

/** Header names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

const EPOCH_SECONDS_FROM = 1e9; // September 2001; as a delta it would be 31 years
const EPOCH_MS_FROM = 1e11; // 1973 in milliseconds; as seconds it would be the year 5138
const CLOCK_SKEW_MS = 2_000; // `Date` has whole seconds: smaller differences say nothing

/**
 * Milliseconds from now until the provider wants to be asked again; undefined where the headers don't say.
 *
 * @param nowMs wall clock, milliseconds since the epoch. A provider whose `Date` header says that its clock differs by
 *   more than two seconds is read by its own clock.
 */
export function providerWait(headers: ResponseHeaders, nowMs: number): number | undefined {
  const providerNow = providersClock(headers.date, nowMs);
  return (
    milliseconds(headers['retry-after-ms'] ?? headers['x-ms-retry-after-ms']) ??
    instantOrDelta(headers['retry-after'] ?? headers['x-ratelimit-retry-after'], providerNow) ??
    structuredWait(headers) ??
    instantOrDelta(headers['ratelimit-reset'], providerNow) ??
    instantOrDelta(headers['x-ratelimit-reset-after'], providerNow) ??
    instantOrDelta(headers['x-ratelimit-reset'] ?? headers['x-rate-limit-reset'], providerNow)
  );
}

function providersClock(date: string | undefined, nowMs: number): number {
  const theirs = date === undefined ? undefined : httpDate(date);
  return theirs === undefined || Math.abs(theirs - nowMs) <= CLOCK_SKEW_MS ? nowMs : theirs;
}

function milliseconds(value: string | undefined): number | undefined {
  const number = value === undefined ? undefined : decimal(value);
  return number === undefined ? undefined : Math.ceil(number);
}

function instantOrDelta(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const number = decimal(value);
  if (number === undefined) {
    const at = httpDate(value);
    return at === undefined ? undefined : Math.max(0, at - now);
  }
  if (number >= EPOCH_MS_FROM) return Math.max(0, Math.ceil(number - now));
  if (number >= EPOCH_SECONDS_FROM) return Math.max(0, Math.ceil(number * 1000 - now));
  return Math.ceil(number * 1000);
}

function decimal(value: string): number | undefined {
  const text = value.trim();
  return /^\d{1,16}(\.\d{1,9})?$/.test(text) ? Number(text) : undefined;
}

/** Asks for a day and month in words, or ISO order: `Date.parse` alone reads almost any text as some date. */
function httpDate(value: string): number | undefined {
  const text = value.trim();
  const inWords = /^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/.test(text);
  const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text);
  if (!inWords && !iso) return undefined;
  const hasZone = /(GMT|UTC|Z|[+-]\d{2}:?\d{2})/.test(text.slice(iso ? 16 : 8));
  const at = Date.parse(hasZone ? text : `${text}${iso ? 'Z' : ' GMT'}`);
  return Number.isNaN(at) ? undefined : at;
}

interface Quota {
  readonly name: string;
  readonly remaining: number | undefined;
  readonly resetSeconds: number | undefined;
}

/** Of several quotas those that are used up decide, and of these the one that takes longest. */
function structuredWait(headers: ResponseHeaders): number | undefined {
  const field = headers.ratelimit;
  if (field === undefined) return undefined;
  const windows = policyWindows(headers['ratelimit-policy']);
  const quotas = readQuotas(field);
  const usedUp = quotas.filter((quota) => quota.remaining === 0);
  const deciding = usedUp.length > 0 ? usedUp : quotas.filter((quota) => quota.remaining === undefined);
  let seconds: number | undefined;
  for (const quota of deciding) {
    const wait = quota.resetSeconds ?? windows.get(quota.name);
    if (wait !== undefined) seconds = Math.max(seconds ?? 0, wait);
  }
  return seconds === undefined ? undefined : Math.ceil(seconds * 1000);
}

function readQuotas(field: string): Quota[] {
  const members = split(field, ',');
  if (members.some((member) => /^(limit|remaining|reset)\s*=/.test(member))) {
    const values = parameters(members);
    return [{ name: '', remaining: values.get('remaining'), resetSeconds: values.get('reset') }];
  }
  return members.map((member) => {
    const [name = '', ...rest] = split(member, ';');
    const values = parameters(rest);
    return { name, remaining: values.get('r'), resetSeconds: values.get('t') };
  });
}

/** Seconds of each policy's window, by its name. */
function policyWindows(field: string | undefined): Map<string, number> {
  const windows = new Map<string, number>();
  for (const member of split(field ?? '', ',')) {
    const [name = '', ...rest] = split(member, ';');
    const window = parameters(rest).get('w');
    if (window !== undefined) windows.set(name, window);
  }
  return windows;
}

function parameters(members: readonly string[]): Map<string, number> {
  const values = new Map<string, number>();
  for (const member of members) {
    const equals = member.indexOf('=');
    const number = equals < 0 ? undefined : decimal(member.slice(equals + 1));
    if (number !== undefined) values.set(member.slice(0, equals).trim().toLowerCase(), number);
  }
  return values;
}

/** Splits at `separator` outside quoted strings (RFC 9651); the quotes stay. */
function split(field: string, separator: string): string[] {
  const parts: string[] = [];
  let part = '';
  let quoted = false;
  for (let index = 0; index < field.length; index++) {
    const char = field.charAt(index);
    if (quoted && char === '\\') part += char + field.charAt(++index);
    else if (char === separator && !quoted) {
      parts.push(part.trim());
      part = '';
    } else {
      if (char === '"') quoted = !quoted;
      part += char;
    }
  }
  parts.push(part.trim());
  return parts.filter((text) => text !== '');
}
