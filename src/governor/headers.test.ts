import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { providerWait, type ResponseHeaders } from './headers.ts';

const NOW = Date.parse('2026-11-30T12:00:00.000Z');
const epochSeconds = NOW / 1000;

const CASES: readonly [string, ResponseHeaders, number | undefined][] = [
  ['nothing', {}, undefined],
  ['Retry-After in seconds', { 'retry-after': '30' }, 30_000],
  ['Retry-After in fractions of a second', { 'retry-after': '1.5' }, 1_500],
  ['Retry-After of zero', { 'retry-after': '0' }, 0],
  ['Retry-After as IMF-fixdate', { 'retry-after': 'Mon, 30 Nov 2026 12:00:45 GMT' }, 45_000],
  ['Retry-After as RFC 850 date', { 'retry-after': 'Monday, 30-Nov-26 12:01:00 GMT' }, 60_000],
  ['Retry-After as asctime, which is GMT', { 'retry-after': 'Mon Nov 30 12:00:10 2026' }, 10_000],
  ['Retry-After in the past', { 'retry-after': 'Mon, 30 Nov 2026 11:00:00 GMT' }, 0],
  [
    'Retry-After as a date of a provider whose clock is an hour ahead',
    { date: 'Mon, 30 Nov 2026 13:00:00 GMT', 'retry-after': 'Mon, 30 Nov 2026 13:00:20 GMT' },
    20_000,
  ],
  [
    'a Date header a second off changes nothing',
    { date: 'Mon, 30 Nov 2026 11:59:59 GMT', 'retry-after': 'Mon, 30 Nov 2026 12:00:20 GMT' },
    20_000,
  ],
  ['retry-after-ms before Retry-After', { 'retry-after-ms': '250', 'retry-after': '1' }, 250],
  ['Retry-After before RateLimit', { 'retry-after': '5', ratelimit: '"default";r=0;t=60' }, 5_000],
  ['RateLimit-Reset of the older draft', { 'ratelimit-remaining': '0', 'ratelimit-reset': '12' }, 12_000],
  ['RateLimit as a dictionary (draft 07)', { ratelimit: 'limit=100, remaining=0, reset=7' }, 7_000],
  ['RateLimit of draft 08', { ratelimit: '"default";r=0;t=30' }, 30_000],
  ['RateLimit: the quota that is used up decides', { ratelimit: '"burst";r=0;t=2, "daily";r=90;t=3600' }, 2_000],
  ['RateLimit: of two used up the longer', { ratelimit: '"burst";r=0;t=2,"daily";r=0;t=3600' }, 3_600_000],
  [
    'RateLimit without t: the window of its policy',
    { ratelimit: '"minute";r=0', 'ratelimit-policy': '"minute";q=100;w=60, "day";q=5000;w=86400' },
    60_000,
  ],
  ['RateLimit with everything left says nothing', { ratelimit: '"default";r=50;t=30' }, undefined],
  ['a quoted name with separators in it', { ratelimit: '"a,b;r=9";r=0;t=4' }, 4_000],
  ['X-RateLimit-Reset in delta seconds', { 'x-ratelimit-reset': '42' }, 42_000],
  ['X-RateLimit-Reset in epoch seconds', { 'x-ratelimit-reset': String(epochSeconds + 90) }, 90_000],
  ['X-RateLimit-Reset in epoch milliseconds', { 'x-ratelimit-reset': String(NOW + 1_234) }, 1_234],
  ['X-RateLimit-Reset in epoch seconds, past', { 'x-ratelimit-reset': String(epochSeconds - 90) }, 0],
  ['X-RateLimit-Reset as an ISO date', { 'x-ratelimit-reset': '2026-11-30T12:00:03Z' }, 3_000],
  ['X-RateLimit-Reset as a date in words', { 'x-ratelimit-reset': 'Mon Nov 30 2026 13:00:05 GMT+0100 (CET)' }, 5_000],
  ['X-Rate-Limit-Reset', { 'x-rate-limit-reset': String(epochSeconds + 5) }, 5_000],
  ['X-RateLimit-Reset-After', { 'x-ratelimit-reset-after': '0.75', 'x-ratelimit-reset': '9' }, 750],
  ['X-RateLimit-Retry-After', { 'x-ratelimit-retry-after': '3' }, 3_000],
  ['rubbish in Retry-After leaves it to the others', { 'retry-after': 'soon', 'x-ratelimit-reset': '8' }, 8_000],
  ['a negative number is rubbish', { 'retry-after': '-5' }, undefined],
];

describe('providerWait', () => {
  for (const [name, headers, expected] of CASES) it(name, () => expect(providerWait(headers, NOW)).toBe(expected));

  verifies('PACE-GATE-1', 'reads every common spelling of the wait', () => {
    expect(CASES.filter(([, headers, expected]) => providerWait(headers, NOW) !== expected)).toEqual([]);
  });

  it('never throws and never gives a negative or endless wait, whatever a provider sends', () => {
    const names = ['date', 'retry-after', 'retry-after-ms', 'ratelimit', 'ratelimit-policy', 'ratelimit-reset'];
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('"a"', ';', ',', 'r=0', 't=1', 't=99999999999999999999', '\\', '"'),
    );
    const value = fc.array(piece).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names, 'x-ratelimit-reset'), value), (headers) => {
        const wait = providerWait(headers, NOW);
        if (wait !== undefined) expect(wait >= 0 && Number.isFinite(wait)).toBe(true);
      }),
    );
  });
});
