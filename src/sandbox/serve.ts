import type { IncomingMessage, ServerResponse } from 'node:http';
import { canonicalJson, NotJsonError, sleep } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import { type AccountNames, apiKeyOf } from './credential.ts';
import { type Endpoint, type PreparedWork, RequestRefused } from './endpoint.ts';
import { type Faults, faultsOfHeader } from './faults.ts';
import type { StoredAnswer } from './idempotency.ts';
import { fingerprintOf, type Ledger, type OpenEntry } from './ledger.ts';
import { limitHeaders } from './limit-headers.ts';
import type { Limits } from './limits.ts';
import { type OutgoingAnswer, reply } from './reply.ts';
import type { SandboxSettings } from './settings.ts';
import type { Fault } from './types.ts';

/** What all requests share. */
export interface Shop {
  readonly settings: SandboxSettings;
  readonly ledger: Ledger;
  readonly limits: Limits;
  readonly faults: Faults;
  readonly accounts: AccountNames;
  /** Aborted when the sandbox closes. */
  readonly closing: AbortSignal;
}

/** One request to one endpoint. */
export interface Exchange {
  readonly endpoint: Endpoint;
  readonly id: string;
  readonly query: string;
  readonly bodyText: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly arrivedAt: number;
}

/** A request whose sender and question are known. */
interface Understood extends Exchange {
  readonly prepared: PreparedWork;
  readonly question: string;
  readonly apiKey: string;
  readonly account: string;
  readonly faults: readonly Fault[];
  /** The key, also where it is ignored. */
  readonly sentKey: string | null;
}

/**
 * A provider request from arrival to answer. In order: credential, limits, validation, idempotency, faults before the
 * work, the work and its entry in the ledger (one step: nothing can come between), faults after it, the answer.
 */
export async function serveExchange(shop: Shop, exchange: Exchange): Promise<void> {
  const { endpoint, response } = exchange;
  try {
    const apiKey = apiKeyOf(exchange.request.headers);
    const account = shop.accounts.of(apiKey);
    enterLimits(shop, endpoint, account);
    try {
      await serveUnderstood(shop, understand(shop, exchange, { apiKey, account }));
    } finally {
      shop.limits.leave(endpoint.provider, account);
    }
  } catch (error) {
    if (shop.closing.aborted || error instanceof ConnectionEnded) response.destroy();
    else if (error instanceof RequestRefused) turnAway(shop, exchange, { refused: error });
    else
      turnAway(shop, exchange, {
        refused: new RequestRefused(500, 'sandbox_failed', `The sandbox failed: ${String(error)}`),
      });
  }
}

function enterLimits(shop: Shop, endpoint: Endpoint, account: string): void {
  const refusal = shop.limits.enter(endpoint.provider, account);
  if (refusal === undefined) return;
  const { spelling } = shop.limits.termsOf(endpoint.provider);
  const headers = limitHeaders(spelling, { now: shop.settings.clock.now(), ...refusal });
  const what =
    refusal.reason === 'rate' ? `${refusal.calls} requests in ${refusal.perMs} ms` : `${refusal.calls} at once`;
  throw new RequestRefused(429, { code: 'too_many_requests', headers }, `${endpoint.provider} allows ${what}.`);
}

function understand(shop: Shop, exchange: Exchange, caller: { apiKey: string; account: string }): Understood {
  const { endpoint, request } = exchange;
  const body = endpoint.method === 'POST' ? parseBody(exchange.bodyText) : undefined;
  const prepared = endpoint.prepare({ query: new URLSearchParams(exchange.query), body, id: exchange.id });
  const question = canonicalQuestion(prepared);
  const target = { method: endpoint.method, path: endpoint.path, provider: endpoint.provider, question };
  const faults = [...headerFaults(request.headers['x-sandbox-fault']), ...shop.faults.strike(target)];
  const sent = request.headers['idempotency-key'];
  const sentKey = typeof sent === 'string' && sent !== '' ? sent : null;
  return { ...exchange, ...caller, prepared, question, faults, sentKey };
}

async function serveUnderstood(shop: Shop, asked: Understood): Promise<void> {
  try {
    const stored = claimKey(shop, asked);
    const { answer, entry } = await answerOf(shop, asked, stored);
    const fate = asked.faults.length === 0 ? answer : await faultsAfter(shop, asked, answer);
    if (fate !== 'lost') {
      reply(asked.response, fate, asked);
      entry.finishedAt = shop.settings.clock.now();
    }
  } catch (error) {
    // Here and not further up, because the answer to a failed request may be spoiled too.
    if (!(error instanceof RequestRefused)) throw error;
    turnAway(shop, asked, { refused: error, spoil: asked });
  }
}

/** The stored answer under the request's key, if there is one. Refuses a key that is at work or stands for another input. */
function claimKey(shop: Shop, asked: Understood): StoredAnswer | undefined {
  if (asked.sentKey === null || !shop.settings.idempotency) return undefined;
  const fingerprint = fingerprintOf(nameOf(asked.endpoint), asked.question);
  const claim = shop.ledger.idempotency.claim(asked.account, asked.sentKey, fingerprint);
  if (claim.kind === 'running')
    throw new RequestRefused(
      409,
      'idempotency_key_in_use',
      'The first request with this Idempotency-Key is still at work.',
    );
  if (claim.kind === 'other-input')
    throw new RequestRefused(422, 'idempotency_key_reused', 'This Idempotency-Key was sent with another input.');
  return claim.kind === 'stored' ? claim.answer : undefined;
}

async function answerOf(
  shop: Shop,
  asked: Understood,
  stored: StoredAnswer | undefined,
): Promise<{ readonly answer: OutgoingAnswer; readonly entry: OpenEntry }> {
  const key = stored === undefined && shop.settings.idempotency ? asked.sentKey : null;
  const memory = shop.ledger.idempotency;
  let done = false;
  try {
    if (shop.settings.latencyMs > 0) await sleep(shop.settings.clock, shop.settings.latencyMs, shop.closing);
    if (asked.faults.length > 0) await faultsBefore(shop, asked);
    const result = doWork(shop, asked, { stored, key });
    done = true;
    return result;
  } finally {
    if (!done && key !== null) memory.abandon(asked.account, key);
  }
}

function doWork(
  shop: Shop,
  asked: Understood,
  how: { readonly stored: StoredAnswer | undefined; readonly key: string | null },
): { readonly answer: OutgoingAnswer; readonly entry: OpenEntry } {
  const { endpoint, prepared, question, account, sentKey, arrivedAt } = asked;
  const at = shop.settings.clock.now();
  const world = { seed: shop.settings.seed, memory: shop.ledger.memory, now: at };
  const worked = how.stored === undefined ? prepared.work(world) : undefined;
  const answer = worked === undefined ? how.stored : { status: worked.status, body: JSON.stringify(worked.body) };
  if (answer === undefined) throw new TypeError('either there is a stored answer, or the work gives one');
  const entry = shop.ledger.record(
    {
      at,
      endpoint: endpoint.path,
      method: endpoint.method,
      provider: endpoint.provider,
      account,
      question,
      members: prepared.members,
      credits: worked?.credits ?? 0,
      status: answer.status,
      idempotencyKey: sentKey,
      replayed: worked === undefined,
      dispatchedAt: arrivedAt,
    },
    how.key === null ? undefined : answer,
  );
  return { answer: worked === undefined ? { ...answer, headers: { 'idempotent-replayed': 'true' } } : answer, entry };
}

/** The connection is gone and the request is counted: nothing more may be said or done. */
class ConnectionEnded extends Error {}

async function faultsBefore(shop: Shop, asked: Understood): Promise<void> {
  for (const fault of asked.faults) {
    if (fault.fault === 'reset-before') {
      asked.request.socket.resetAndDestroy();
      throw endedBy(shop, asked, 'reset');
    }
    if (fault.when === 'after') continue;
    if (fault.fault === 'delay') await sleep(shop.settings.clock, fault.ms ?? 0, shop.closing);
    if (fault.fault === 'status') throw statusFault(shop, asked, fault);
    if (fault.fault === 'hang') {
      await connectionClosed(asked.response);
      throw endedBy(shop, asked, 'hang');
    }
  }
}

/** What goes out after the work: the answer, another one, or nothing. */
async function faultsAfter(shop: Shop, asked: Understood, answer: OutgoingAnswer): Promise<OutgoingAnswer | 'lost'> {
  for (const fault of asked.faults) {
    if (fault.fault === 'reset-after') {
      asked.request.socket.resetAndDestroy();
      return 'lost';
    }
    if (fault.when !== 'after') continue;
    if (fault.fault === 'delay') await sleep(shop.settings.clock, fault.ms ?? 0, shop.closing);
    if (fault.fault === 'hang') {
      await connectionClosed(asked.response);
      return 'lost';
    }
    if (fault.fault === 'status') {
      const refused = statusFault(shop, asked, fault);
      return { status: refused.status, body: JSON.stringify(refused.body), headers: refused.headers };
    }
  }
  return answer;
}

function statusFault(shop: Shop, { endpoint }: Understood, fault: Fault): RequestRefused {
  const { rate, spelling } = shop.limits.termsOf(endpoint.provider);
  const waitMs = (fault.retryAfter ?? 0) * 1000;
  const reset = { now: shop.settings.clock.now(), waitMs, calls: rate[0]?.calls ?? 1, perMs: waitMs };
  const headers = fault.retryAfter === undefined ? {} : limitHeaders(spelling, reset);
  return new RequestRefused(fault.status ?? 500, { code: 'sandbox_fault', headers }, 'The sandbox was told to fail.');
}

function endedBy(shop: Shop, asked: Understood, why: string): ConnectionEnded {
  shop.ledger.refuse(nameOf(asked.endpoint), why);
  return new ConnectionEnded(why);
}

function connectionClosed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed || response.closed) resolve();
    else response.once('close', () => resolve());
  });
}

function turnAway(
  shop: Shop,
  exchange: Exchange,
  why: {
    readonly refused: RequestRefused;
    readonly spoil?: { readonly faults: readonly Fault[]; readonly apiKey: string };
  },
): void {
  const { refused, spoil } = why;
  shop.ledger.refuse(nameOf(exchange.endpoint), String(refused.status));
  const { status, headers } = refused;
  reply(exchange.response, { status, body: JSON.stringify(refused.body), headers }, spoil);
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestRefused(400, 'body_not_json', 'The body must be JSON.');
  }
}

function canonicalQuestion(prepared: PreparedWork): string {
  try {
    return canonicalJson(prepared.question);
  } catch (error) {
    if (error instanceof NotJsonError) throw new RequestRefused(422, 'text_not_unicode', error.message);
    throw error;
  }
}

function headerFaults(header: string | readonly string[] | undefined): readonly Fault[] {
  if (header === undefined) return [];
  try {
    return faultsOfHeader(String(header));
  } catch (error) {
    if (error instanceof CallsheetError) throw new RequestRefused(400, 'fault_not_understood', error.message);
    throw error;
  }
}

function nameOf(endpoint: Endpoint): string {
  return `${endpoint.method} ${endpoint.path}`;
}
