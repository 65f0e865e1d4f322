import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CallsheetError } from '../sdk/index.ts';
import { sandboxControls } from './control.ts';
import { AccountNames } from './credential.ts';
import type { Endpoint } from './endpoint.ts';
import { sandboxEndpoints } from './endpoints/catalogue.ts';
import { Faults, faultRules } from './faults.ts';
import { Ledger } from './ledger.ts';
import { Limits } from './limits.ts';
import { reply } from './reply.ts';
import { type Shop, serveExchange } from './serve.ts';
import { type SandboxSettings, sandboxSettings } from './settings.ts';
import type { Sandbox, SandboxOptions } from './types.ts';

/** Loopback only: the sandbox has no users and guards nothing. */
const ADDRESS = '127.0.0.1';
const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;
const MOST_BODY_BYTES = 10 * 1024 * 1024;
const KEEP_ALIVE_MS = 60_000;

/**
 * Starts the local provider on 127.0.0.1. Throws `USAGE` for options that can't be used, `PORT_TAKEN`, and for
 * the ledger file `FILE_MALFORMED` or `OUTPUT_NOT_WRITABLE`.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = sandboxSettings(options);
  const closing = new AbortController();
  // Every delayed request listens; there may be thousands.
  setMaxListeners(0, closing.signal);
  const shop: Shop = {
    settings,
    ledger: new Ledger(settings.seed, settings.ledgerFile),
    limits: new Limits({
      clock: settings.clock,
      enforced: settings.limits === 'declared',
      overrides: settings.providers,
    }),
    faults: new Faults(settings.seed, settings.faults),
    accounts: new AccountNames(),
    closing: closing.signal,
  };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, requestListener(shop));
  try {
    await listen(server, settings);
  } catch (error) {
    shop.ledger.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${ADDRESS}:${port}`,
    port,
    ledger: () => [...shop.ledger.entries()],
    totals: () => shop.ledger.totals(),
    setFaults: (rules) => shop.faults.replace(faultRules(rules)),
    close: () => {
      closed ??= shutDown(server, shop, closing);
      return closed;
    },
  };
}

function listen(server: Server, { port }: SandboxSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EADDRINUSE' && cause.code !== 'EACCES') return reject(cause);
      const problem = cause.code === 'EADDRINUSE' ? 'is in use' : 'may not be used by this user';
      const error = new CallsheetError('PORT_TAKEN', `The sandbox can't listen: port ${port} ${problem}.`, {
        details: { port },
        next: ['callsheet sandbox --port 0'],
        cause,
      });
      reject(error);
    });
    server.listen(port, ADDRESS, resolve);
  });
}

async function shutDown(server: Server, shop: Shop, closing: AbortController): Promise<void> {
  closing.abort(new Error('the sandbox closes'));
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await ended;
  shop.ledger.close();
}

/** An endpoint and the part of the path that varies. */
interface Route {
  readonly endpoint: Endpoint;
  readonly id: string;
}

function requestListener(shop: Shop): (request: IncomingMessage, response: ServerResponse) => void {
  const endpoints = sandboxEndpoints(shop.settings.jobMs);
  const controls = sandboxControls(endpoints);
  const byName = new Map(endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]));
  const route = (method: string, path: string): Route | undefined => {
    const exact = byName.get(`${method} ${path}`);
    if (exact !== undefined) return { endpoint: exact, id: '' };
    const slash = path.lastIndexOf('/');
    const open = byName.get(`${method} ${path.slice(0, slash)}/:id`);
    return open && { endpoint: open, id: path.slice(slash + 1) };
  };
  return (request, response) => {
    const arrivedAt = shop.settings.clock.now();
    if (!LOOPBACK_HOST.test(request.headers.host ?? ''))
      return refuse(response, { status: 403, code: 'host_not_allowed', message: 'Ask for 127.0.0.1 or localhost.' });
    const { method = 'GET', url = '/' } = request;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const query = mark < 0 ? '' : url.slice(mark + 1);
    const control = controls.get(path);
    const found = control === undefined ? route(method, path) : undefined;
    const answerControl = control?.get(method);
    if (answerControl !== undefined)
      return withBody(request, response, (bodyText) =>
        answerControl(shop, { method, query: new URLSearchParams(query), bodyText, response }),
      );
    if (found !== undefined)
      return withBody(request, response, (bodyText) => {
        void serveExchange(shop, { ...found, query, bodyText, request, response, arrivedAt });
      });
    const allowed = control ? [...control.keys()] : ['GET', 'POST'].filter((other) => route(other, path) !== undefined);
    if (allowed.length > 0)
      return refuse(response, { status: 405, code: 'method_not_allowed', message: `Use ${allowed.join(' or ')}.` });
    refuse(response, { status: 404, code: 'no_such_endpoint', message: `${path} is no endpoint; see GET /_limits.` });
  };
}

/** Reads the body of a POST and goes on; other bodies are not looked at. Too long a body is refused. */
function withBody(request: IncomingMessage, response: ServerResponse, next: (text: string) => void): void {
  if (request.method !== 'POST') {
    next('');
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MOST_BODY_BYTES) chunks.push(chunk);
  });
  request.on('end', () => {
    if (bytes > MOST_BODY_BYTES)
      return refuse(response, { status: 413, code: 'body_too_long', message: `At most ${MOST_BODY_BYTES} bytes.` });
    next(chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString());
  });
}

function refuse(response: ServerResponse, why: { status: number; code: string; message: string }): void {
  const { status, code, message } = why;
  reply(response, { status, body: JSON.stringify({ error: { code, message } }) });
}
