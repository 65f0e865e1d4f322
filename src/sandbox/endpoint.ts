import type { JsonObject, JsonValue } from '../sdk/index.ts';
import type { ProviderMemory } from './provider-memory.ts';
import type { SandboxProvider } from './types.ts';

/** What an endpoint sees of a request. */
export interface EndpointInput {
  readonly query: URLSearchParams;
  /** The parsed JSON body; undefined where there is none. */
  readonly body: unknown;
  /** The part of the path that varies. */
  readonly id: string;
}

export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
  readonly credits: number;
}

/** What an endpoint may use for its work. */
export interface EndpointWorld {
  readonly seed: number;
  readonly memory: ProviderMemory;
  /** The instant of the work, in milliseconds since the epoch. */
  readonly now: number;
}

/** A request that was understood; `work` may be called once, later, or never. */
export interface PreparedWork {
  /** The input that matters: what the ledger keeps and what idempotency compares. */
  readonly question: JsonValue;
  readonly members: number;
  readonly work: (world: EndpointWorld) => Answer;
}

export interface Endpoint {
  readonly method: 'GET' | 'POST';
  /** May end in `/:id`. */
  readonly path: string;
  readonly provider: SandboxProvider;
  readonly price: { readonly credits: number | 'by tokens'; readonly per: 'call' | 'result' };
  /** Share of persons that it finds; undefined where that is no question. */
  readonly coverage?: number;
  /** Most members in a bulk request. */
  readonly maxMembers?: number;
  /** Throws `RequestRefused` where the input can't be used. */
  readonly prepare: (input: EndpointInput) => PreparedWork;
}

/** A request that the provider refuses before any work. */
export class RequestRefused extends Error {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    kind: string | { readonly code: string; readonly headers: Readonly<Record<string, string>> },
    message: string,
  ) {
    super(message);
    const { code, headers } = typeof kind === 'string' ? { code: kind, headers: {} } : kind;
    this.name = 'RequestRefused';
    this.status = status;
    this.body = { error: { code, message } };
    this.headers = headers;
  }
}

/** The body as an object, or a 400. */
export function bodyObject(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new RequestRefused(400, 'body_not_an_object', 'The body must be a JSON object.');
  return body as Record<string, unknown>;
}

/** A string field that is not blank, or a 422 that names it. */
export function textField(record: Record<string, unknown>, name: string, place = name): string {
  const value = record[name];
  if (typeof value !== 'string' || value.trim() === '')
    throw new RequestRefused(422, 'field_missing', `${place} must be a string that is not empty.`);
  return value;
}

/** A query parameter that is not blank, or a 422 that names it. */
export function queryField(query: URLSearchParams, name: string): string {
  return textField({ [name]: query.get(name) }, name, `The query parameter ${name}`);
}

/** A list of 1 to `most` items, or a 422; longer lists are a 413. */
export function listField(record: Record<string, unknown>, name: string, most: number): readonly unknown[] {
  const value = record[name];
  if (!Array.isArray(value) || value.length === 0)
    throw new RequestRefused(422, 'field_missing', `${name} must be a list that is not empty.`);
  if (value.length > most)
    throw new RequestRefused(
      413,
      'too_many_members',
      `${name} has ${value.length} members; at most ${most} are taken.`,
    );
  return value;
}
