import type { CallReads, ReceiptQuery, StoredReceipt } from '../store/index.ts';
import { type Answer, answerOf } from './answer.ts';

interface Asked<Query, Found> {
  readonly query: Query;
  readonly resolve: (found: Found | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** A group holds at most this many questions, so that what is hydrated at once stays below 256 × 64 KiB. */
const GROUP = 256;
/** Large answers are read one by one, so many at a time. */
const LARGE_AT_ONCE = 2;

/**
 * Reads receipts for all calls that ask in one turn of the event loop together.
 *
 * Invariants
 *  1. Every question gets one answer, in its own promise.
 *  2. Bytes hydrated at once: one group of small answers, and `LARGE_AT_ONCE` large ones.
 */
export class Lookup {
  readonly #reads: CallReads;
  #byKey: Asked<ReceiptQuery, StoredReceipt>[] = [];
  #byId: Asked<number, StoredReceipt>[] = [];
  #scheduled = false;
  #large = 0;
  #waitingForLarge: (() => void)[] = [];

  constructor(reads: CallReads) {
    this.#reads = reads;
  }

  /** The newest usable answer under a key. */
  async byKey(query: ReceiptQuery): Promise<Answer | undefined> {
    const receipt = await new Promise<StoredReceipt | undefined>((resolve, reject) => {
      this.#byKey.push({ query, resolve, reject });
      this.#schedule();
    });
    return receipt === undefined ? undefined : this.hydrate(receipt);
  }

  /** One exact receipt, evicted or not. */
  async byId(id: number): Promise<Answer | undefined> {
    const receipt = await new Promise<StoredReceipt | undefined>((resolve, reject) => {
      this.#byId.push({ query: id, resolve, reject });
      this.#schedule();
    });
    return receipt === undefined ? undefined : this.hydrate(receipt);
  }

  async hydrate(receipt: StoredReceipt): Promise<Answer | undefined> {
    if (receipt.raw !== undefined) return answerOf(receipt, receipt.raw);
    while (this.#large >= LARGE_AT_ONCE) await new Promise<void>((resolve) => this.#waitingForLarge.push(resolve));
    this.#large++;
    try {
      const raw = await this.#reads.receiptRaw(receipt.id);
      return raw === undefined ? undefined : answerOf(receipt, raw);
    } finally {
      this.#large--;
      this.#waitingForLarge.shift()?.();
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const byKey = this.#byKey;
      const byId = this.#byId;
      this.#byKey = [];
      this.#byId = [];
      for (let from = 0; from < byKey.length; from += GROUP)
        void answerAll(byKey.slice(from, from + GROUP), (queries) => this.#reads.receiptsByKeys(queries));
      for (let from = 0; from < byId.length; from += GROUP)
        void answerAll(byId.slice(from, from + GROUP), (ids) => this.#reads.receiptsByIds(ids));
    });
  }
}

async function answerAll<Query, Found>(
  asked: readonly Asked<Query, Found>[],
  read: (queries: readonly Query[]) => Promise<readonly (Found | undefined)[]>,
): Promise<void> {
  try {
    const found = await read(asked.map((one) => one.query));
    for (const [index, one] of asked.entries()) one.resolve(found[index]);
  } catch (error) {
    for (const one of asked) one.reject(error);
  }
}
