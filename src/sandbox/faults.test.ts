import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { testSandbox, until } from '../../test/sandbox-client.ts';
import { VirtualClock } from '../scope/index.ts';
import { Faults, faultRules, faultsOfHeader } from './faults.ts';

const company = '/clearbit/v2/companies/find?domain=sap.com';
const fault = (said: string) => ({ headers: { 'x-sandbox-fault': said } });

describe('one request', () => {
  verifies('SANDBOX-FAULTS-1', 'can be slow, before the work or after it', async () => {
    const clock = new VirtualClock();
    const sandbox = await testSandbox({ clock });
    const slow = sandbox.ask(company, fault('delay=5000'));
    await until(() => clock.pending().length > 0);
    expect(sandbox.ledger()).toEqual([]);
    await clock.advance(5000);
    expect((await slow).status).toBe(200);
    const late = sandbox.ask(company, fault('delay=700;when=after'));
    await until(() => clock.pending().length > 0);
    expect(sandbox.ledger()).toHaveLength(2);
    expect(sandbox.ledger()[1]?.finishedAt).toBeNull();
    await clock.advance(700);
    expect((await late).status).toBe(200);
    const last = sandbox.ledger()[1];
    expect((last?.finishedAt ?? 0) - (last?.dispatchedAt ?? 0)).toBe(700);
  });

  verifies('SANDBOX-FAULTS-1', 'can fail with a status before the work or after it', async () => {
    const sandbox = await testSandbox();
    const before = await sandbox.ask(company, fault('status=503;retry-after=7'));
    expect(before).toMatchObject({ status: 503, headers: { 'x-ratelimit-reset': '7' } });
    expect(sandbox.ledger()).toEqual([]);
    expect((await sandbox.ask(company, fault('status=500;when=after'))).status).toBe(500);
    expect(sandbox.ledger()).toMatchObject([{ status: 200, credits: 1 }]);
  });

  verifies('SANDBOX-FAULTS-1', 'can be reset before the work or after it', async () => {
    const sandbox = await testSandbox();
    await expect(sandbox.ask(company, fault('reset-before'))).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
    expect(sandbox.totals()).toMatchObject({ operations: 0, refused: { reset: 1 } });
    await expect(sandbox.ask(company, fault('reset-after'))).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
    expect(sandbox.ledger()).toMatchObject([{ credits: 1, status: 200, finishedAt: null }]);
  });

  verifies('SANDBOX-FAULTS-1', 'can get a body that is cut, rubbish or huge', async () => {
    const sandbox = await testSandbox();
    await expect(sandbox.ask(company, fault('truncate'))).rejects.toThrow();
    const rubbish = await sandbox.ask(company, fault('rubbish'));
    expect(rubbish).toMatchObject({ status: 200, json: undefined });
    expect(rubbish.headers['content-type']).toBe('text/html');
    const huge = await sandbox.ask(company, fault('huge'));
    expect(huge.text.length).toBeGreaterThan(30 * 1024 * 1024);
    expect(huge.json.name).toBe('SAP');
    expect(sandbox.totals()).toMatchObject({ operations: 3, credits: 3 });
  });

  it('can get no answer at all, before the work or after it', async () => {
    const sandbox = await testSandbox();
    for (const when of ['before', 'after'] as const) {
      const controller = new AbortController();
      let settled = false;
      const asked = sandbox.ask(company, { ...fault(`hang;when=${when}`), signal: controller.signal }).finally(() => {
        settled = true;
      });
      const failed = expect(asked).rejects.toThrow();
      if (when === 'after') await until(() => sandbox.ledger().length === 1);
      await sandbox.ask('/healthz');
      expect(settled).toBe(false);
      controller.abort();
      await failed;
      if (when === 'before') await until(() => sandbox.totals().refused.hang === 1);
    }
    expect(sandbox.ledger()).toMatchObject([{ finishedAt: null }]);
  });

  it('a request that hung before the work frees its idempotency key when the client goes', async () => {
    const sandbox = await testSandbox({ faults: [{ fault: 'hang', times: 1 }] });
    const controller = new AbortController();
    const headers = { 'idempotency-key': 'k' };
    const failed = expect(sandbox.ask(company, { headers, signal: controller.signal })).rejects.toThrow();
    while ((await sandbox.ask('/_faults')).json.rules[0].struck === 0);
    expect((await sandbox.ask(company, { headers })).status).toBe(409);
    controller.abort();
    await failed;
    await until(() => sandbox.totals().refused.hang === 1);
    expect((await sandbox.ask(company, { headers })).status).toBe(200);
    expect(sandbox.totals().operations).toBe(1);
  });

  it('can get its credential echoed, in an answer and in an error', async () => {
    const sandbox = await testSandbox();
    const answer = await sandbox.ask(company, fault('echo-secret'));
    expect(answer.json).toMatchObject({ name: 'SAP', debug: { authorization: 'Bearer test-key' } });
    const error = await sandbox.ask(company, fault('status=500, echo-secret'));
    expect(error).toMatchObject({ status: 500, json: { debug: { authorization: 'Bearer test-key' } } });
  });

  it('with a fault that nobody knows is refused and says so', async () => {
    const sandbox = await testSandbox();
    for (const said of ['explode', 'delay', 'status=abc', 'status=200', 'hang=3', 'delay=1;how=x', 'hang;when=never']) {
      const refused = await sandbox.ask(company, fault(said));
      expect(refused, said).toMatchObject({ status: 400, json: { error: { code: 'fault_not_understood' } } });
    }
    expect(sandbox.ledger()).toEqual([]);
  });

  it('latencyMs slows every provider request and none of the controls', async () => {
    const clock = new VirtualClock();
    const sandbox = await testSandbox({ clock, latencyMs: 250 });
    const asked = sandbox.ask(company);
    await until(() => clock.pending().length > 0);
    expect((await sandbox.ask('/healthz')).json).toEqual({ status: 'ok' });
    await clock.advance(250);
    expect((await asked).status).toBe(200);
  });
});

describe('rules', () => {
  verifies('SANDBOX-FAULTS-1', 'hit by endpoint, provider, nth and times', async () => {
    const sandbox = await testSandbox({
      faults: [
        { fault: 'status', status: 500, endpoint: '/hunter/v2/email-finder', nth: 2 },
        { fault: 'status', status: 501, provider: 'clearbit', times: 1 },
        { fault: 'status', status: 502, endpoint: 'POST /messages/send' },
      ],
    });
    const hunter = [await sandbox.hunter('Ada'), await sandbox.hunter('Ada'), await sandbox.hunter('Ada')];
    expect(hunter.map((answer) => answer.status === 500)).toEqual([false, true, false]);
    expect([(await sandbox.ask(company)).status, (await sandbox.ask(company)).status]).toEqual([501, 200]);
    const message = { to: 'ada@sap.com', subject: 's', body: 'b' };
    expect((await sandbox.ask('/messages/send', { body: message })).status).toBe(502);
    expect((await sandbox.ask('/messages/search?reference=r')).status).toBe(200);
  });

  it('are read, replaced and removed at /_faults', async () => {
    const sandbox = await testSandbox();
    const rules = [{ fault: 'status', status: 500, provider: 'clearbit', times: 5 }];
    expect((await sandbox.ask('/_faults', { body: { rules } })).status).toBe(200);
    await sandbox.ask(company);
    expect((await sandbox.ask('/_faults')).json.rules).toEqual([{ ...rules[0], matched: 1, struck: 1 }]);
    const bad = await sandbox.ask('/_faults', { body: { rules: [{ fault: 'delay' }] } });
    expect(bad).toMatchObject({ status: 400, json: { error: { message: expect.stringContaining('rules[0]') } } });
    expect((await sandbox.ask('/_faults', { body: 'no' })).status).toBe(400);
    expect((await sandbox.ask('/_faults')).json.rules).toHaveLength(1);
    await sandbox.ask('/_faults', { method: 'DELETE' });
    expect((await sandbox.ask(company)).status).toBe(200);
    sandbox.setFaults([{ fault: 'status', status: 500 }]);
    expect((await sandbox.ask(company)).status).toBe(500);
  });

  it('with a probability hit the same questions whatever the order, and about as many as they say', () => {
    const targets = Array.from({ length: 2000 }, (_, index) => ({
      method: 'GET',
      path: '/p',
      provider: 'hunter',
      question: `q${index}`,
    }));
    const struck = (order: typeof targets): ReadonlySet<string> => {
      const faults = new Faults(3, [{ fault: 'hang', probability: 0.2 }]);
      return new Set(order.filter((target) => faults.strike(target).length > 0).map((target) => target.question));
    };
    const forwards = struck(targets);
    expect(struck([...targets].reverse())).toEqual(forwards);
    expect(forwards.size).toBeGreaterThan(300);
    expect(forwards.size).toBeLessThan(500);
  });

  it('refuse every form that is none, with the place', () => {
    const bad: readonly unknown[] = [
      'rules',
      [null],
      [{ fault: 'explode' }],
      [{ fault: 'status' }],
      [{ fault: 'status', status: 99 }],
      [{ fault: 'hang', when: 'later' }],
      [{ fault: 'hang', provider: 'nobody' }],
      [{ fault: 'hang', endpoint: 3 }],
      [{ fault: 'hang', probability: 2 }],
      [{ fault: 'hang', nth: 0 }],
      [{ fault: 'hang', time: 1 }],
    ];
    for (const rules of bad) expect(() => faultRules(rules)).toThrow(/rules/);
  });

  it('a header never gives a fault that the rules would not take', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        let faults: readonly unknown[];
        try {
          faults = faultsOfHeader(header);
        } catch (error) {
          expect(error).toMatchObject({ code: 'USAGE' });
          return;
        }
        expect(faultRules(faults)).toEqual(faults);
      }),
    );
  });
});
