import type { Dispatcher, Pool } from 'undici';
import { type Clock, systemClock } from '../scope/index.ts';
import { type Exchanged, HttpExchange } from './http-exchange.ts';
import type { HttpRequest } from './http-request.ts';
import type { Operation } from './port.ts';
import { OperationWatch } from './watch.ts';

/** Sockets to one origin of one account; more requests wait their turn, and their time-out runs meanwhile. */
const DEFAULT_CONNECTIONS = 256;
const CONNECT_TIMEOUT_MS = 10_000;
const LARGEST_HEAD_BYTES = 64 * 1024;

export interface HttpClientOptions {
  readonly clock?: Clock | undefined;
  readonly connections?: number | undefined;
}

export interface ExchangeOptions {
  /** Requests of different accounts never share a connection. */
  readonly accountKey: string;
  /** For the whole exchange, from now to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Told when the request goes out. */
  readonly permit?: Operation['permit'];
}

/** Sends single requests. Never rejects, never follows a redirect, never sends a request twice. */
export interface HttpClient {
  exchange(request: HttpRequest, options: ExchangeOptions): Promise<Exchanged>;
  /** Lets what is under way end. */
  close(): Promise<void>;
}

/** An HTTP/1.1 client over undici's `dispatch`, with a pool of its own for each account and origin. */
export function openHttpClient({
  clock = systemClock,
  connections = DEFAULT_CONNECTIONS,
}: HttpClientOptions): HttpClient {
  const watch = new OperationWatch(clock);
  const pools = new Map<string, Pool>();
  let openPool: ((origin: string) => Pool) | undefined;
  let closed = false;

  const dispatch = (request: HttpRequest, exchange: HttpExchange, accountKey: string): void => {
    if (exchange.over) return;
    if (openPool === undefined || closed) {
      exchange.refuse('the client is closed');
      return;
    }
    const key = `${accountKey} ${request.origin}`;
    let pool = pools.get(key);
    if (pool === undefined) {
      pool = openPool(request.origin);
      pools.set(key, pool);
    }
    pool.dispatch(
      {
        path: request.path,
        method: request.method as Dispatcher.HttpMethod,
        // undici reads the list and never changes it.
        headers: request.headers as string[],
        body: request.body,
        // The watch alone ends what takes too long.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      exchange,
    );
  };

  return {
    exchange(request, options) {
      const { accountKey } = options;
      const exchange = new HttpExchange(options, watch);
      if (openPool !== undefined) dispatch(request, exchange, accountKey);
      // undici takes 130 ms to load, so only a process that sends something loads it.
      else
        poolFactory(connections).then(
          (factory) => {
            openPool ??= factory;
            dispatch(request, exchange, accountKey);
          },
          (error: unknown) => exchange.refuse(`the HTTP library could not be loaded: ${String(error)}`),
        );
      return exchange.result;
    },
    async close() {
      closed = true;
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
}

async function poolFactory(connections: number): Promise<(origin: string) => Pool> {
  const { Pool } = await import('undici');
  return (origin) =>
    new Pool(origin, {
      allowH2: false,
      pipelining: 1,
      connections,
      connectTimeout: CONNECT_TIMEOUT_MS,
      maxHeaderSize: LARGEST_HEAD_BYTES,
    });
}
