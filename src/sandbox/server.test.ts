import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { hunterPath, testSandbox, until } from '../../test/sandbox-client.ts';
import { VirtualClock } from '../scope/index.ts';
import { type SandboxOptions, startSandbox } from './index.ts';

async function statusWithHost(port: number, host: string): Promise<number> {
  const request = get({ port, host: '127.0.0.1', path: '/healthz', headers: { host }, agent: false });
  const [response] = await once(request, 'response');
  response.resume();
  return response.statusCode;
}

/** Only HTTP/1.0 may leave `Host` out. */
async function statusLineWithoutHost(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write('GET /healthz HTTP/1.0\r\n\r\n');
  const chunks: string[] = [];
  for await (const chunk of socket.setEncoding('utf8')) chunks.push(chunk);
  return chunks.join('').split('\r\n')[0] ?? '';
}

describe('server', () => {
  verifies('SANDBOX-LOOPBACK-1', 'answers loopback names only, whatever the port', async () => {
    const { port, url } = await testSandbox();
    expect(url).toBe(`http://127.0.0.1:${port}`);
    for (const host of [`127.0.0.1:${port}`, 'localhost', `LOCALHOST:${port}`, '[::1]:80'])
      expect(await statusWithHost(port, host), host).toBe(200);
    for (const host of ['evil.example', '127.0.0.1.evil.example', `evil.example:${port}`, 'localhost@evil.example'])
      expect(await statusWithHost(port, host), host).toBe(403);
    expect(await statusLineWithoutHost(port)).toBe('HTTP/1.1 403 Forbidden');
  });

  verifies('SANDBOX-LOOPBACK-1', 'does not listen on other addresses of the machine', async () => {
    const { port } = await testSandbox();
    const socket = connect({ port, host: '127.0.0.2' });
    const [error] = await once(socket, 'error').catch((reason: unknown) => [reason]);
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('takes any key as bearer or x-api-key, and refuses missing, bad, forbidden and broke ones', async () => {
    const sandbox = await testSandbox();
    const status = async (headers: Record<string, string>) =>
      (await sandbox.ask('/clearbit/v2/companies/find?domain=sap.com', { headers: { authorization: '', ...headers } }))
        .status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: 'Basic abc' })).toBe(401);
    expect(await status({ authorization: 'Bearer bad-key' })).toBe(401);
    expect(await status({ 'x-api-key': 'forbidden-1' })).toBe(403);
    expect(await status({ 'x-api-key': 'broke' })).toBe(402);
    expect(await status({ authorization: 'bearer any' })).toBe(200);
    expect(await status({ 'x-api-key': 'any' })).toBe(200);
    const [bearer, named] = sandbox.ledger();
    expect(bearer?.account).toBe(named?.account);
    expect(sandbox.totals().refused).toEqual({ '401': 3, '402': 1, '403': 1 });
  });

  it('names what is not there and what it may be asked with', async () => {
    const sandbox = await testSandbox();
    expect((await sandbox.ask('/nothing')).status).toBe(404);
    const [path = ''] = hunterPath('Ada').split('?');
    const wrong = await sandbox.ask(path, { body: {} });
    expect(wrong).toMatchObject({ status: 405, json: { error: { message: 'Use GET.' } } });
    expect((await sandbox.ask('/_ledger', { method: 'PUT' })).json.error.message).toBe('Use GET or DELETE.');
  });

  it('refuses a body of more than 10 MB and goes on', async () => {
    const sandbox = await testSandbox();
    const long = await sandbox.ask('/llm/classify', { body: 'x'.repeat(10 * 1024 * 1024 + 1) });
    expect(long.status).toBe(413);
    expect((await sandbox.ask('/healthz')).status).toBe(200);
  });

  it('puts together a body that comes in pieces', async () => {
    const sandbox = await testSandbox();
    const filler = 'word '.repeat(15_000);
    const { json } = await sandbox.ask('/llm/classify', { body: { text: `${filler} bank`, labels: ['bank', 'shop'] } });
    expect(json.label).toBe('bank');
  });

  it('says that its port is in use', async () => {
    const { port } = await testSandbox();
    await expect(startSandbox({ port })).rejects.toMatchObject({ code: 'PORT_TAKEN', details: { port } });
  });

  it('closes at once though requests wait, and twice without harm', async () => {
    const clock = new VirtualClock();
    const sandbox = await testSandbox({ clock, latencyMs: 1000 });
    const failed = expect(sandbox.ask('/clearbit/v2/companies/find?domain=sap.com')).rejects.toThrow();
    await until(() => clock.pending().length > 0);
    await sandbox.close();
    await failed;
    await sandbox.close();
    expect(clock.pending()).toEqual([]);
    expect(sandbox.ledger()).toEqual([]);
  });

  it('does the work of a client that has gone away meanwhile', async () => {
    const clock = new VirtualClock();
    const sandbox = await testSandbox({ clock, latencyMs: 1000 });
    const controller = new AbortController();
    const asked = sandbox.ask('/clearbit/v2/companies/find?domain=sap.com', { signal: controller.signal });
    const failed = expect(asked).rejects.toThrow();
    await until(() => clock.pending().length > 0);
    controller.abort();
    await failed;
    await clock.advance(1000);
    expect(sandbox.totals()).toMatchObject({ operations: 1, credits: 1 });
  });

  it('refuses options that it cannot use, and names them', async () => {
    const bad: readonly (readonly [SandboxOptions, string])[] = [
      [{ port: 70_000 }, 'port'],
      [{ seed: 1.5 }, 'seed'],
      [{ latencyMs: -1 }, 'latencyMs'],
      [{ jobMs: Number.NaN }, 'jobMs'],
      [{ limits: 'on' as 'off' }, 'limits'],
      [{ providers: { nobody: {} } as object }, 'providers.nobody'],
      [{ providers: { llm: { concurrency: 0 } } }, 'providers.llm.concurrency'],
      [{ providers: { llm: { rate: [{ calls: 0, per: '1s' }] } } }, 'providers.llm.rate[0].calls'],
      [{ providers: { llm: { rate: [{ calls: 1, per: 'soon' }] } } }, 'providers.llm.rate[0].per'],
      [{ providers: { llm: { spelling: 'loud' as 'none' } } }, 'providers.llm.spelling'],
      [{ faults: [{ fault: 'delay' }] }, 'rules[0]'],
    ];
    for (const [options, field] of bad)
      await expect(startSandbox(options), field).rejects.toMatchObject({ code: 'USAGE', details: { field } });
  });
});
