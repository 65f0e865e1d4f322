import type { Digest } from '../scope/index.ts';
import type { CallReads, ReceiptQuery, StoredReceipt } from '../store/index.ts';
import { type Answer, answerOf } from './answer.ts';
import { BatchPart, keptPart } from './batch-answer.ts';
import { BatchAnswers } from './batch-answers.ts';

interface Asked<Query> {
  readonly query: Query;
  readonly resolve: (found: Answer | undefined | Promise<Answer | undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups of one turn that are read at the end of what is running now; later ones wait for the next turn. */
const GROUPS_AT_ONCE = 2;
/** A group holds at most this many questions, so that what is hydrated at once stays below 256 × 64 KiB. */
const GROUP = 256;
/** Large answers are read one by one, so many at a time. */
const LARGE_AT_ONCE = 2;

/**
 * Reads receipts for all calls that ask at one time together: as soon as the code that asks has come to rest, so that what
 * is bought next can ride in the commit of this very turn.
 *
 * Invariants
 *  1. Every question gets one answer, in its own promise.
 *  2. Bytes hydrated at once: one group of small answers, and `LARGE_AT_ONCE` large ones.
 *  3. The event loop turns though every answer sets off the next question.
 *  4. What many members of a batch share is read once, and kept for those that ask soon after.
 */
export class Lookup {
  readonly #reads: CallReads;
  #byKey: Asked<ReceiptQuery>[] = [];
  #byId: Asked<number>[] = [];
  #scheduled = false;
  #groupsThisTurn = 0;
  #large = 0;
  #waitingForLarge: (() => void)[] = [];
  /** Answers of whole batches. */
  readonly batches: BatchAnswers;

  constructor(reads: CallReads) {
    this.#reads = reads;
    this.batches = new BatchAnswers(reads, (id) => this.#largeRaw(id));
  }

  /** The newest usable answer under a key. */
  byKey(query: ReceiptQuery): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      this.#byKey.push({ query, resolve, reject });
      this.#schedule();
    });
  }

  /** One exact receipt, evicted or not. */
  byId(id: number): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      this.#byId.push({ query: id, resolve, reject });
      this.#schedule();
    });
  }

  /** The newest receipt under a key, whether or not it serves anybody. */
  async newest(key: Digest): Promise<StoredReceipt | undefined> {
    return (await this.#reads.receiptsByKeys([{ key, notBefore: undefined, every: true }]))[0];
  }

  /** A turn to parse a large answer that many share: in one breath they would all hold their own copy of it. */
  async turn(): Promise<void> {
    while (this.#large >= LARGE_AT_ONCE) await new Promise<void>((resolve) => this.#waitingForLarge.push(resolve));
    this.#large++;
    setImmediate(() => this.#leaveLarge());
  }

  async hydrate(receipt: StoredReceipt): Promise<Answer | undefined> {
    const raw = receipt.raw ?? (await this.#largeRaw(receipt.id));
    return raw === undefined ? undefined : this.#answerOf({ ...receipt, raw });
  }

  async #largeRaw(id: number): Promise<string | undefined> {
    while (this.#large >= LARGE_AT_ONCE) await new Promise<void>((resolve) => this.#waitingForLarge.push(resolve));
    this.#large++;
    try {
      return await this.#reads.receiptRaw(id);
    } finally {
      this.#leaveLarge();
    }
  }

  #leaveLarge(): void {
    this.#large--;
    this.#waitingForLarge.shift()?.();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (this.#groupsThisTurn >= GROUPS_AT_ONCE) {
      setImmediate(() => this.#read());
      return;
    }
    if (this.#groupsThisTurn++ === 0)
      setImmediate(() => {
        this.#groupsThisTurn = 0;
      });
    // Runs when no promise has anything left to do, and so after all who ask now.
    process.nextTick(() => this.#read());
  }

  #read(): void {
    this.#scheduled = false;
    const byKey = this.#byKey;
    const byId = this.#byId;
    this.#byKey = [];
    this.#byId = [];
    for (let from = 0; from < byKey.length; from += GROUP)
      void this.#answer(byKey.slice(from, from + GROUP), (queries) => this.#reads.receiptsByKeys(queries));
    for (let from = 0; from < byId.length; from += GROUP)
      void this.#answer(byId.slice(from, from + GROUP), (ids) => this.#reads.receiptsByIds(ids));
  }

  async #answer<Query>(
    asked: readonly Asked<Query>[],
    read: (queries: readonly Query[]) => Promise<readonly (StoredReceipt | undefined)[]>,
  ): Promise<void> {
    try {
      const found = await read(asked.map((one) => one.query));
      for (let index = 0; index < asked.length; index++) asked[index]?.resolve(this.#answerOf(found[index]));
    } catch (error) {
      for (const one of asked) one.reject(error);
    }
  }

  #answerOf(receipt: StoredReceipt | undefined): Answer | undefined | Promise<Answer | undefined> {
    if (receipt === undefined) return undefined;
    if (receipt.raw === undefined) return this.hydrate(receipt);
    const part = keptPart(receipt.raw);
    if (part === undefined) return answerOf(receipt, receipt.raw);
    const answer = answerOf(receipt, receipt.raw);
    return this.batches
      .of(part.whole)
      .then((whole) => (whole === undefined ? undefined : { ...answer, part: new BatchPart(whole, part.index) }));
  }
}

const LARGE_CHARACTERS = 64 * 1024;

/** True for an answer that is not to be in memory many times over. */
export function isLarge(rawText: string): boolean {
  return rawText.length > LARGE_CHARACTERS;
}
