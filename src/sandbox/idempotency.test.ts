import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { testSandbox, until } from '../../test/sandbox-client.ts';
import { VirtualClock } from '../scope/index.ts';

const message = { to: 'ada@stripe.com', subject: 'Hello', body: 'Hello Ada' };
const keyed = { 'idempotency-key': 'k1' };

describe('Idempotency-Key', () => {
  verifies('SANDBOX-IDEMPOTENCY-1', 'gives the stored answer again and charges once', async () => {
    const sandbox = await testSandbox();
    const first = await sandbox.ask('/messages/send', { body: message, headers: keyed });
    const again = await sandbox.ask('/messages/send', { body: message, headers: keyed });
    expect(again.text).toBe(first.text);
    expect(first.headers).not.toHaveProperty('idempotent-replayed');
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(sandbox.ledger()).toMatchObject([
      { credits: 1, replayed: false, idempotencyKey: 'k1' },
      { credits: 0, replayed: true, idempotencyKey: 'k1' },
    ]);
    expect(sandbox.totals()).toMatchObject({ operations: 1, credits: 1, replayed: 1 });
  });

  it('keeps answers without a result too, with their status', async () => {
    const sandbox = await testSandbox();
    const path = '/clearbit/v2/companies/find?domain=nobody.example';
    expect((await sandbox.ask(path, { headers: keyed })).status).toBe(404);
    const again = await sandbox.ask(path, { headers: keyed });
    expect(again).toMatchObject({ status: 404, headers: { 'idempotent-replayed': 'true' } });
  });

  it('takes the same input in another spelling for the same', async () => {
    const sandbox = await testSandbox();
    await sandbox.ask('/messages/send', { body: message, headers: keyed });
    const { body, subject, to } = message;
    const again = await sandbox.ask('/messages/send', {
      body: `{ "body": "${body}", "to": "${to}", "subject": "${subject}" }`,
      headers: keyed,
    });
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  verifies('SANDBOX-IDEMPOTENCY-1', 'with another input or at another endpoint is a 422', async () => {
    const sandbox = await testSandbox();
    await sandbox.ask('/messages/send', { body: message, headers: keyed });
    const other = await sandbox.ask('/messages/send', { body: { ...message, subject: 'Bye' }, headers: keyed });
    expect(other).toMatchObject({ status: 422, json: { error: { code: 'idempotency_key_reused' } } });
    expect((await sandbox.hunter('Ada', keyed)).status).toBe(422);
    expect(sandbox.totals().operations).toBe(1);
  });

  it('whose first request is still at work is a 409, then the stored answer', async () => {
    const clock = new VirtualClock();
    const sandbox = await testSandbox({ clock, latencyMs: 50 });
    const first = sandbox.ask('/messages/send', { body: message, headers: keyed });
    await until(() => clock.pending().length > 0);
    const early = await sandbox.ask('/messages/send', { body: message, headers: keyed });
    expect(early).toMatchObject({ status: 409, json: { error: { code: 'idempotency_key_in_use' } } });
    await clock.advance(50);
    const again = sandbox.ask('/messages/send', { body: message, headers: keyed });
    await until(() => clock.pending().length > 0);
    await clock.advance(50);
    expect((await again).text).toBe((await first).text);
    expect(sandbox.totals()).toMatchObject({ operations: 1, credits: 1, replayed: 1, refused: { '409': 1 } });
  });

  it('belongs to the account', async () => {
    const sandbox = await testSandbox();
    await sandbox.ask('/messages/send', { body: message, headers: keyed });
    await sandbox.ask('/messages/send', { body: message, headers: { ...keyed, authorization: 'Bearer other' } });
    const [mine, theirs] = sandbox.ledger();
    expect(mine?.account).not.toBe(theirs?.account);
    expect(sandbox.totals().credits).toBe(2);
  });

  it('is not used up by a refusal or a failure before the work', async () => {
    const sandbox = await testSandbox({ faults: [{ fault: 'status', status: 503, times: 1 }] });
    expect((await sandbox.ask('/messages/send', { body: message, headers: keyed })).status).toBe(503);
    const second = await sandbox.ask('/messages/send', { body: message, headers: keyed });
    expect(second.status).toBe(200);
    expect(second.headers).not.toHaveProperty('idempotent-replayed');
  });

  verifies('SANDBOX-IDEMPOTENCY-1', 'saves from a second charge after a reset that followed the work', async () => {
    const sandbox = await testSandbox({ faults: [{ fault: 'reset-after', times: 1 }] });
    await expect(sandbox.ask('/messages/send', { body: message, headers: keyed })).rejects.toThrow();
    const again = await sandbox.ask('/messages/send', { body: message, headers: keyed });
    expect(again).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } });
    expect(sandbox.totals()).toMatchObject({ operations: 1, credits: 1 });
  });

  it('is ignored, but still written down, when switched off', async () => {
    const sandbox = await testSandbox({ idempotency: false });
    await sandbox.ask('/messages/send', { body: message, headers: keyed });
    const again = await sandbox.ask('/messages/send', { body: { ...message, subject: 'Bye' }, headers: keyed });
    expect(again.status).toBe(200);
    expect(sandbox.ledger().map((entry) => entry.idempotencyKey)).toEqual(['k1', 'k1']);
    expect(sandbox.totals()).toMatchObject({ operations: 2, credits: 2, replayed: 0 });
  });
});
