import type { Digest, Place } from '../scope/index.ts';
import type { CallEntry, CallReads, StoredReceipt } from '../store/index.ts';

/**
 * What this run has already ended, by place.
 *
 * Owns: the journal entries of unfinished rows, loaded before such a row runs, and the receipts that a dead attempt
 * paid but did not settle.
 *
 * Invariants
 *  1. A first attempt reads nothing.
 *  2. An entry, once loaded, answers its callId until its row is forgotten.
 *  3. An unsettled receipt is given out once, to the call that bought it.
 */
export class Journal {
  readonly #reads: CallReads;
  readonly #runNo: number;
  readonly #places = new Map<string, ReadonlyMap<Digest, CallEntry>>();
  readonly #unsettled = new Map<Digest, StoredReceipt>();
  readonly #warned = new Set<string>();

  constructor(reads: CallReads, runNo: number) {
    this.#reads = reads;
    this.#runNo = runNo;
  }

  /** Reads what outlived the last attempt: call once, on a later attempt, before the play runs. */
  async open(): Promise<void> {
    for (const receipt of await this.#reads.unsettledReceipts(this.#runNo))
      this.#unsettled.set(receipt.callId, receipt);
    await this.load(0, [0]);
  }

  async load(datasetNo: number, ordinals: readonly number[]): Promise<void> {
    for (const [ordinal, entries] of await this.#reads.journal(this.#runNo, datasetNo, ordinals))
      this.#places.set(`${datasetNo}:${ordinal}`, new Map(entries.map((entry) => [entry.callId, entry])));
  }

  forget(place: Place): void {
    if (this.#places.size > 0) this.#places.delete(`${place.datasetNo}:${place.ordinal}`);
  }

  entry(place: Place, callId: Digest): CallEntry | undefined {
    if (this.#places.size === 0) return undefined;
    return this.#places.get(`${place.datasetNo}:${place.ordinal}`)?.get(callId);
  }

  /** A receipt that this very call bought in an attempt that died before it could settle it. */
  takeUnsettled(callId: Digest): StoredReceipt | undefined {
    if (this.#unsettled.size === 0) return undefined;
    const receipt = this.#unsettled.get(callId);
    this.#unsettled.delete(callId);
    return receipt;
  }

  /** True the first time a name is asked about: so that a change of a tool is told once, not once a row. */
  firstSight(name: string): boolean {
    if (this.#warned.has(name)) return false;
    this.#warned.add(name);
    return true;
  }
}
