import type { Digest } from '../scope/index.ts';
import type { CallReads, StoredReceipt } from '../store/index.ts';
import { BatchAnswer } from './batch-answer.ts';

/** Characters of whole answers that are kept for members which ask soon; the newest one is kept whatever its size. */
const KEPT_CHARACTERS = 8 * 1024 * 1024;
/** As many at most: small ones cost more than their text. */
const KEPT = 64;

interface Asked {
  readonly key: Digest;
  readonly resolve: (found: StoredReceipt | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Whole answers of batches, by receipt key.
 *
 * Owns: those that were read or bought last.
 *
 * Invariants
 *  1. However many members ask at once, an answer is read once.
 *  2. Answers that are asked for in one turn are read together; large ones through `largeRaw`, which bounds how many are
 *     hydrated at once.
 */
export class BatchAnswers {
  readonly #reads: Pick<CallReads, 'receiptsByKeys'>;
  readonly #largeRaw: (receiptId: number) => Promise<string | undefined>;
  /** In order of use. */
  readonly #kept = new Map<Digest, BatchAnswer>();
  readonly #loading = new Map<Digest, Promise<BatchAnswer | undefined>>();
  #characters = 0;
  #asked: Asked[] = [];

  constructor(reads: Pick<CallReads, 'receiptsByKeys'>, largeRaw: (receiptId: number) => Promise<string | undefined>) {
    this.#reads = reads;
    this.#largeRaw = largeRaw;
  }

  /** Undefined where there is none under this key. */
  of(key: Digest): Promise<BatchAnswer | undefined> {
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.keep(key, kept);
      return Promise.resolve(kept);
    }
    let loading = this.#loading.get(key);
    if (loading === undefined) {
      loading = this.#load(key).finally(() => this.#loading.delete(key));
      this.#loading.set(key, loading);
    }
    return loading;
  }

  keep(key: Digest, answer: BatchAnswer): void {
    this.#drop(key);
    this.#kept.set(key, answer);
    this.#characters += answer.size;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size === 1 || (this.#kept.size <= KEPT && this.#characters <= KEPT_CHARACTERS)) return;
      this.#drop(oldest);
    }
  }

  #drop(key: Digest): void {
    this.#characters -= this.#kept.get(key)?.size ?? 0;
    this.#kept.delete(key);
  }

  async #load(key: Digest): Promise<BatchAnswer | undefined> {
    const receipt = await this.#receipt(key);
    if (receipt === undefined) return undefined;
    const text = receipt.raw ?? (await this.#largeRaw(receipt.id));
    if (text === undefined) return undefined;
    const answer = new BatchAnswer(text);
    this.keep(key, answer);
    return answer;
  }

  #receipt(key: Digest): Promise<StoredReceipt | undefined> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ key, resolve, reject });
      // Runs when no promise has anything left to do, and so after all who ask now.
      if (this.#asked.length === 1) process.nextTick(() => void this.#read());
    });
  }

  async #read(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    try {
      // Members point at it whether or not it was evicted, and no call may have it as a whole.
      const queries = asked.map(({ key }) => ({ key, notBefore: undefined, every: true }) as const);
      const found = await this.#reads.receiptsByKeys(queries);
      for (let index = 0; index < asked.length; index++) asked[index]?.resolve(found[index]);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}
