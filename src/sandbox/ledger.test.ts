import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { testSandbox } from '../../test/sandbox-client.ts';
import { VirtualClock } from '../scope/index.ts';
import { startSandbox } from './index.ts';

const message = { to: 'ada@stripe.com', subject: 'Hello', body: 'Hello Ada', reference: 'r-1' };
const job = { firstname: 'Ada', lastname: 'Ashvale', domainOrCompany: 'stripe.com' };

function ledgerFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'ledger.jsonl');
}

describe('ledger', () => {
  verifies('SANDBOX-LEDGER-1', 'lists each piece of work with its question and what it cost', async () => {
    const clock = new VirtualClock();
    const sandbox = await testSandbox({ clock });
    await sandbox.ask('/clearbit/v2/companies/find?domain=sap.com', { headers: { 'x-trace': '1' } });
    expect(sandbox.ledger()).toEqual([
      {
        seq: 1,
        at: clock.now(),
        endpoint: '/clearbit/v2/companies/find',
        method: 'GET',
        provider: 'clearbit',
        account: expect.stringMatching(/^[\w-]{12}$/),
        question: '{"domain":"sap.com"}',
        members: 1,
        credits: 1,
        status: 200,
        idempotencyKey: null,
        replayed: false,
        dispatchedAt: clock.now(),
        finishedAt: clock.now(),
      },
    ]);
  });

  verifies('SANDBOX-LEDGER-1', 'is read at /_ledger with totals, in part, and emptied', async () => {
    const sandbox = await testSandbox();
    await sandbox.ask('/clearbit/v2/companies/find?domain=sap.com');
    await sandbox.ask('/messages/send', { body: message });
    await sandbox.ask('/messages/send', { body: {} });
    const { json } = await sandbox.ask('/_ledger');
    expect(json.entries).toEqual(sandbox.ledger());
    expect(json.totals).toEqual({
      operations: 2,
      credits: 2,
      replayed: 0,
      refused: { '422': 1 },
      byEndpoint: {
        'GET /clearbit/v2/companies/find': { operations: 1, credits: 1, replayed: 0, refused: {} },
        'POST /messages/send': { operations: 1, credits: 1, replayed: 0, refused: { '422': 1 } },
      },
    });
    expect((await sandbox.ask('/_ledger?after=1')).json.entries).toHaveLength(1);
    expect((await sandbox.ask('/_ledger?entries=false')).json).toEqual({ entries: [], totals: json.totals });
    await sandbox.ask('/_ledger', { method: 'DELETE' });
    expect(sandbox.ledger()).toEqual([]);
    expect((await sandbox.ask('/messages/search?reference=r-1')).json.messages).toEqual([]);
    expect(sandbox.ledger()).toMatchObject([{ seq: 1 }]);
  });

  it('of thousands of entries is one JSON document', async () => {
    const file = ledgerFile();
    const first = await testSandbox({ ledgerFile: file });
    await first.ask('/clearbit/v2/companies/find?domain=sap.com');
    const line = readFileSync(file, 'utf8');
    const lines = Array.from({ length: 2100 }, (_, index) => line.replace('"seq":1', `"seq":${index + 1}`));
    writeFileSync(file, lines.join(''));
    const second = await testSandbox({ ledgerFile: file });
    const { json } = await second.ask('/_ledger');
    expect(json.entries).toEqual(second.ledger());
    expect(json.entries.at(-1)).toMatchObject({ seq: 2100 });
    expect(json.totals.credits).toBe(2100);
  });

  it('never holds an API key', async () => {
    const file = ledgerFile();
    const sandbox = await testSandbox({ ledgerFile: file });
    const headers = {
      authorization: 'Bearer very-secret-key',
      'idempotency-key': 'k',
      'x-sandbox-fault': 'echo-secret',
    };
    await sandbox.ask('/messages/send', { body: message, headers });
    expect((await sandbox.ask('/_ledger')).text).not.toContain('very-secret-key');
    expect(readFileSync(file, 'utf8')).not.toContain('very-secret-key');
  });
});

describe('ledger file', () => {
  it('brings back entries, totals, jobs, messages and idempotency keys', async () => {
    const file = ledgerFile();
    const first = await testSandbox({ ledgerFile: file, jobMs: 0 });
    const headers = { 'idempotency-key': 'k' };
    const sent = await first.ask('/messages/send', { body: message, headers });
    const started = await first.ask('/icypeas/jobs', { body: job });
    // No close: what a kill leaves is what was appended.
    const second = await testSandbox({ ledgerFile: file, jobMs: 0 });
    expect(second.ledger()).toEqual(first.ledger().map((entry) => ({ ...entry, finishedAt: null })));
    expect(second.totals()).toEqual(first.totals());
    const again = await second.ask('/messages/send', { body: message, headers });
    expect(again).toMatchObject({ text: sent.text, headers: { 'idempotent-replayed': 'true' } });
    expect((await second.ask(`/icypeas/jobs/${started.json.job_id}`)).json.status).toBe('done');
    const restarted = await second.ask('/icypeas/jobs', { body: job });
    expect(restarted.json.job_id).not.toBe(started.json.job_id);
    expect((await second.ask('/messages/search?reference=r-1')).json.messages).toHaveLength(1);
    expect(second.ledger().map((entry) => entry.seq)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('is appended before the answer goes out, and can be read by its owner only', async () => {
    const file = ledgerFile();
    const sandbox = await testSandbox({ ledgerFile: file });
    const headers = { 'x-sandbox-fault': 'reset-after' };
    await expect(sandbox.ask('/messages/send', { body: message, headers })).rejects.toThrow();
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(2);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('survives a last line that a kill cut in two', async () => {
    const file = ledgerFile();
    const first = await testSandbox({ ledgerFile: file });
    await first.ask('/messages/send', { body: message });
    appendFileSync(file, '{"v":1,"entry":{"se');
    const second = await testSandbox({ ledgerFile: file });
    await second.ask('/messages/send', { body: message });
    const third = await testSandbox({ ledgerFile: file });
    expect(third.ledger().map((entry) => entry.seq)).toEqual([1, 2]);
  });

  it('is emptied with the ledger', async () => {
    const file = ledgerFile();
    const sandbox = await testSandbox({ ledgerFile: file });
    await sandbox.ask('/messages/send', { body: message });
    await sandbox.ask('/_ledger', { method: 'DELETE' });
    expect(readFileSync(file, 'utf8')).toBe('');
  });

  it('that is something else is refused with the line', async () => {
    const file = ledgerFile();
    for (const text of ['no json\n', '{"v":2}\n', 'null\n', '{"v":1,"entry":{"seq":1}}\n', '{"v":1,"entry":7}\n']) {
      writeFileSync(file, text);
      await expect(startSandbox({ ledgerFile: file })).rejects.toMatchObject({
        code: 'FILE_MALFORMED',
        details: { file, line: 1 },
      });
    }
  });

  it('in a folder that does not exist is refused', async () => {
    const file = join(ledgerFile(), 'missing', 'ledger.jsonl');
    await expect(startSandbox({ ledgerFile: file })).rejects.toMatchObject({ code: 'OUTPUT_NOT_WRITABLE' });
  });
});
