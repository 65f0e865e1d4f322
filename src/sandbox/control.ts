import type { ServerResponse } from 'node:http';
import { durationMs } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { Endpoint } from './endpoint.ts';
import { faultRules } from './faults.ts';
import { PROVIDERS } from './providers.ts';
import { reply } from './reply.ts';
import type { Shop } from './serve.ts';

interface ControlRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly bodyText: string;
  readonly response: ServerResponse;
}

type Control = (shop: Shop, request: ControlRequest) => void;

const ENTRIES_IN_A_CHUNK = 1000;

/** What the sandbox says about itself, by path and method. These need no API key and are never limited or spoiled. */
export function sandboxControls(endpoints: readonly Endpoint[]): ReadonlyMap<string, ReadonlyMap<string, Control>> {
  const limits = (shop: Shop) => describeTerms(shop, endpoints);
  return new Map([
    ['/healthz', new Map<string, Control>([['GET', (_shop, { response }) => sendJson(response, { status: 'ok' })]])],
    ['/_limits', new Map<string, Control>([['GET', (shop, { response }) => sendJson(response, limits(shop))]])],
    ['/_ledger', new Map<string, Control>(LEDGER_METHODS)],
    ['/_faults', new Map<string, Control>(FAULT_METHODS)],
  ]);
}

const LEDGER_METHODS: readonly (readonly [string, Control])[] = [
  ['GET', sendLedger],
  [
    'DELETE',
    (shop, { response }) => {
      shop.ledger.clear();
      sendJson(response, { totals: shop.ledger.totals() });
    },
  ],
];

const FAULT_METHODS: readonly (readonly [string, Control])[] = [
  ['GET', sendFaults],
  [
    'POST',
    (shop, request) => {
      try {
        const body = JSON.parse(request.bodyText) as { readonly rules?: unknown } | null;
        shop.faults.replace(faultRules(body?.rules));
      } catch (error) {
        const message = error instanceof CallsheetError ? error.message : 'The body must be JSON: {"rules":[…]}.';
        return sendJson(request.response, { error: { code: 'fault_not_understood', message } }, 400);
      }
      sendFaults(shop, request);
    },
  ],
  [
    'DELETE',
    (shop, request) => {
      shop.faults.replace([]);
      sendFaults(shop, request);
    },
  ],
];

/** `{entries,totals}`; `?after=<seq>` leaves out earlier entries, `?entries=false` all. Written in pieces: it may be long. */
function sendLedger(shop: Shop, { query, response }: ControlRequest): void {
  const after = Number(query.get('after') ?? 0);
  const entries =
    query.get('entries') === 'false' ? [] : shop.ledger.entries().slice(Number.isFinite(after) ? after : 0);
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.write('{"entries":[');
  for (let start = 0; start < entries.length; start += ENTRIES_IN_A_CHUNK) {
    const chunk = entries.slice(start, start + ENTRIES_IN_A_CHUNK).map((entry) => JSON.stringify(entry));
    response.write(`${start === 0 ? '' : ','}${chunk.join(',')}`);
  }
  response.end(`],"totals":${JSON.stringify(shop.ledger.totals())}}`);
}

function sendFaults(shop: Shop, { response }: ControlRequest): void {
  sendJson(response, { rules: shop.faults.list() });
}

function describeTerms(shop: Shop, endpoints: readonly Endpoint[]): unknown {
  const providers = PROVIDERS.map((name) => {
    const { rate, concurrency, spelling } = shop.limits.termsOf(name);
    const sold = endpoints
      .filter((endpoint) => endpoint.provider === name)
      .map(({ method, path, price, coverage, maxMembers }) => ({ method, path, price, coverage, maxMembers }));
    const windows = rate.map(({ calls, per }) => ({ calls, perMs: durationMs(per) }));
    return [name, { rate: windows, concurrency, spelling, endpoints: sold }] as const;
  });
  return { enforced: shop.limits.enforced, providers: Object.fromEntries(providers) };
}

function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  reply(response, { status, body: JSON.stringify(value) });
}
