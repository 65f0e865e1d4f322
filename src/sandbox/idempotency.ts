/** An answer as it went out, kept under its key. */
export interface StoredAnswer {
  readonly status: number;
  readonly body: string;
}

export type IdempotencyClaim =
  | { readonly kind: 'first' }
  | { readonly kind: 'stored'; readonly answer: StoredAnswer }
  | { readonly kind: 'running' }
  | { readonly kind: 'other-input' };

interface KeyState {
  readonly fingerprint: string;
  answer: StoredAnswer | undefined;
}

/** What the provider remembers by `Idempotency-Key`, for each account. It never forgets while the sandbox lives. */
export class IdempotencyMemory {
  readonly #states = new Map<string, KeyState>();

  /** Claims a key for a question, or says what is known under it. A claim ends with `finish` or `abandon`. */
  claim(account: string, key: string, fingerprint: string): IdempotencyClaim {
    const name = nameOf(account, key);
    const known = this.#states.get(name);
    if (known === undefined) {
      this.#states.set(name, { fingerprint, answer: undefined });
      return { kind: 'first' };
    }
    if (known.fingerprint !== fingerprint) return { kind: 'other-input' };
    return known.answer === undefined ? { kind: 'running' } : { kind: 'stored', answer: known.answer };
  }

  /** Keeps the answer; also how answers from the ledger file come back. */
  finish(account: string, key: string, stored: { fingerprint: string; answer: StoredAnswer }): void {
    this.#states.set(nameOf(account, key), { ...stored });
  }

  /** Nothing was done: the key is free again. */
  abandon(account: string, key: string): void {
    const name = nameOf(account, key);
    if (this.#states.get(name)?.answer === undefined) this.#states.delete(name);
  }
}

function nameOf(account: string, key: string): string {
  return `${account} ${key}`;
}
