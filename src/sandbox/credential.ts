import type { IncomingHttpHeaders } from 'node:http';
import { digest } from '../scope/index.ts';
import { RequestRefused } from './endpoint.ts';

/**
 * The API key of a request, from `authorization: Bearer …` or `x-api-key`. Any key is good, except that those that
 * start with `bad`, `forbidden` and `broke` are refused as a provider would refuse them (401, 403, 402).
 */
export function apiKeyOf(headers: IncomingHttpHeaders): string {
  const bearer = /^bearer\s+(.+)$/i.exec(headers.authorization ?? '')?.[1];
  const named = headers['x-api-key'];
  const key = (bearer ?? (typeof named === 'string' ? named : '')).trim();
  if (key === '')
    throw new RequestRefused(401, 'api_key_missing', 'Send an API key (authorization: Bearer, x-api-key).');
  if (key.startsWith('bad')) throw new RequestRefused(401, 'api_key_invalid', 'This API key is not known.');
  if (key.startsWith('forbidden')) throw new RequestRefused(403, 'not_allowed', 'This API key may not do that.');
  if (key.startsWith('broke')) throw new RequestRefused(402, 'payment_required', 'This account has no credits left.');
  return key;
}

/** Names the account in the ledger without keeping its key. Remembers the last few: hashing each request is waste. */
export class AccountNames {
  readonly #known = new Map<string, string>();

  of(key: string): string {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= 1000) this.#known.clear();
    const name = digest(`sandbox account ${key}`).slice(0, 12);
    this.#known.set(key, name);
    return name;
  }
}
