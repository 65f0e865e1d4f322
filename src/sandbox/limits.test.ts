import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { hunterPath, testSandbox } from '../../test/sandbox-client.ts';
import { VirtualClock } from '../scope/index.ts';
import { limitHeaders } from './limit-headers.ts';
import { Limits } from './limits.ts';
import type { LimitSpelling } from './types.ts';

/** 2026-01-01T00:00:00.400Z: so that rounding shows. */
const NOW = Date.parse('2026-01-01T00:00:00.400Z');

/** What a 429 says after two requests at NOW, with a limit of 2 in 2.5 s, one second later. */
const SAID: Readonly<Record<LimitSpelling, Readonly<Record<string, string>>>> = {
  'retry-after-seconds': { 'retry-after': '2' },
  'retry-after-date': { 'retry-after': 'Thu, 01 Jan 2026 00:00:03 GMT' },
  'ratelimit-ietf': { ratelimit: '"default";r=0;t=2', 'ratelimit-policy': '"default";q=2;w=3' },
  'ratelimit-ietf-legacy': { 'ratelimit-limit': '2', 'ratelimit-remaining': '0', 'ratelimit-reset': '2' },
  'x-ratelimit-reset-epoch-s': { 'x-ratelimit-reset': String(NOW / 1000 + 2.6), 'x-ratelimit-remaining': '0' },
  'x-ratelimit-reset-epoch-ms': { 'x-ratelimit-reset': String(NOW + 2500), 'x-ratelimit-limit': '2' },
  'x-ratelimit-reset-delta-s': { 'x-ratelimit-reset': '2', 'x-ratelimit-limit': '2' },
  none: {},
};

describe('rate', () => {
  for (const spelling of Object.keys(SAID) as LimitSpelling[])
    verifies('SANDBOX-LIMITS-1', `is enforced with 429 and ${spelling}`, async () => {
      const clock = new VirtualClock(NOW);
      const sandbox = await testSandbox({
        clock,
        providers: { hunter: { rate: [{ calls: 2, per: 2500 }], spelling } },
      });
      await sandbox.hunter('Ada');
      await sandbox.hunter('Edda');
      await clock.advance(1000);
      const refused = await sandbox.hunter('Pia');
      expect(refused.status).toBe(429);
      expect(refused.headers).toMatchObject(SAID[spelling]);
      if (spelling === 'none') expect(refused.headers).not.toHaveProperty('retry-after');
      await clock.advance(1499);
      expect((await sandbox.hunter('Pia')).status).toBe(429);
      await clock.advance(1);
      expect((await sandbox.hunter('Pia')).status).not.toBe(429);
      expect(sandbox.totals()).toMatchObject({ operations: 3, refused: { '429': 2 } });
    });

  it('belongs to provider and account', async () => {
    const clock = new VirtualClock();
    const sandbox = await testSandbox({ clock, providers: { hunter: { rate: [{ calls: 1, per: '1s' }] } } });
    expect((await sandbox.hunter('Ada')).status).not.toBe(429);
    expect((await sandbox.hunter('Ada')).status).toBe(429);
    expect((await sandbox.hunter('Ada', { authorization: 'Bearer another' })).status).not.toBe(429);
    expect((await sandbox.ask('/clearbit/v2/companies/find?domain=sap.com')).status).toBe(200);
  });

  it('off takes any pace', async () => {
    const providers = { hunter: { rate: [{ calls: 1, per: '1h' }] } };
    const sandbox = await testSandbox({ limits: 'off', providers });
    const answers = await Promise.all(Array.from({ length: 50 }, () => sandbox.hunter('Ada')));
    expect(answers.filter((answer) => answer.status === 429)).toEqual([]);
  });

  it('never lets more through in any sliding window than is declared, and never refuses where there is room', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 120 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 1000 }), gaps, (calls, per, waits) => {
        let now = 5;
        const clock = { now: () => now, monotonic: () => now, after: () => () => {} };
        const limits = new Limits({ clock, enforced: true, overrides: { llm: { rate: [{ calls, per }] } } });
        const admitted: number[] = [];
        for (const wait of waits) {
          now += wait;
          const held = admitted.filter((at) => at > now - per).length;
          const refusal = limits.enter('llm', 'a');
          expect(refusal === undefined).toBe(held < calls);
          if (refusal !== undefined) continue;
          limits.leave('llm', 'a');
          admitted.push(now);
        }
      }),
    );
  });

  it('with several windows tells the longest wait and takes a place in none when refused', () => {
    let now = 0;
    const clock = { now: () => now, monotonic: () => now, after: () => () => {} };
    const rate = [
      { calls: 1, per: 100 },
      { calls: 2, per: 1000 },
    ];
    const limits = new Limits({ clock, enforced: true, overrides: { llm: { rate } } });
    expect(limits.enter('llm', 'a')).toBeUndefined();
    expect(limits.enter('llm', 'a')).toMatchObject({ reason: 'rate', waitMs: 100 });
    now = 100;
    expect(limits.enter('llm', 'a')).toBeUndefined();
    expect(limits.enter('llm', 'a')).toMatchObject({ waitMs: 900, calls: 2, perMs: 1000 });
  });
});

describe('concurrency', () => {
  verifies('SANDBOX-LIMITS-1', 'refuses one request too many at once, and frees the slot afterwards', async () => {
    const clock = new VirtualClock();
    const sandbox = await testSandbox({ clock, latencyMs: 100, providers: { hunter: { concurrency: 1 } } });
    const first = sandbox.hunter('Ada');
    while (clock.pending().length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    const second = await sandbox.hunter('Edda');
    expect(second.status).toBe(429);
    expect(second.headers['retry-after']).toBe('1');
    await clock.advance(100);
    expect((await first).status).not.toBe(429);
    const third = sandbox.hunter('Edda');
    while (clock.pending().length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    await clock.advance(100);
    expect((await third).status).not.toBe(429);
  });
});

it('/_limits says what is declared and sold', async () => {
  const sandbox = await testSandbox({ providers: { hunter: { rate: [{ calls: 3, per: '1m' }] } } });
  const { json } = await sandbox.ask('/_limits');
  expect(json.enforced).toBe(true);
  expect(json.providers.hunter).toMatchObject({ rate: [{ calls: 3, perMs: 60_000 }], concurrency: 100 });
  const [path] = hunterPath('Ada').split('?');
  expect(json.providers.hunter.endpoints).toMatchObject([
    { method: 'GET', path, price: { credits: 1, per: 'result' } },
  ]);
});

it('a wait below a second is still a whole second in spellings that know no less', () => {
  const facts = { now: NOW, waitMs: 1, calls: 1, perMs: 10 };
  expect(limitHeaders('retry-after-seconds', facts)).toEqual({ 'retry-after': '1' });
  expect(limitHeaders('ratelimit-ietf', facts)['ratelimit-policy']).toBe('"default";q=1;w=1');
});
