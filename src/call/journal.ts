import type { Digest, Place } from '../scope/index.ts';
import type { CallEntry, CallReads, StoredReceipt } from '../store/index.ts';
import { isFinalFailure } from './failure.ts';

/** What a call has paid for in an earlier attempt, and how much of that its run has settled. */
export interface Paid {
  readonly receipt: StoredReceipt;
  readonly settled: number;
}

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
 *  4. A retry of what failed forgets failures, but neither what they had paid for nor a write that is in doubt.
 */
export class Journal {
  readonly #reads: CallReads;
  readonly #runNo: number;
  readonly #places = new Map<string, ReadonlyMap<Digest, CallEntry>>();
  readonly #unsettled = new Map<Digest, Paid>();
  readonly #warned = new Set<string>();

  constructor(reads: CallReads, runNo: number) {
    this.#reads = reads;
    this.#runNo = runNo;
  }

  /** Reads what outlived the last attempt: call once, on a later attempt, before the play runs. */
  async open(how: { readonly retryFailed?: boolean } = {}): Promise<void> {
    for (const receipt of await this.#reads.unsettledReceipts(this.#runNo))
      this.#unsettled.set(receipt.callId, { receipt, settled: 0 });
    await this.load(0, [0], how);
  }

  async load(
    datasetNo: number,
    ordinals: readonly number[],
    { retryFailed = false }: { readonly retryFailed?: boolean } = {},
  ): Promise<void> {
    for (const [ordinal, entries] of await this.#reads.journal(this.#runNo, datasetNo, ordinals)) {
      const kept = retryFailed ? await this.#withoutFailures(entries) : entries;
      this.#places.set(`${datasetNo}:${ordinal}`, new Map(kept.map((entry) => [entry.callId, entry])));
    }
  }

  forget(place: Place): void {
    if (this.#places.size > 0) this.#places.delete(`${place.datasetNo}:${place.ordinal}`);
  }

  entry(place: Place, callId: Digest): CallEntry | undefined {
    if (this.#places.size === 0) return undefined;
    return this.#places.get(`${place.datasetNo}:${place.ordinal}`)?.get(callId);
  }

  /** A receipt that this very call bought in an attempt that died before it could settle it. */
  takeUnsettled(callId: Digest): Paid | undefined {
    if (this.#unsettled.size === 0) return undefined;
    const paid = this.#unsettled.get(callId);
    this.#unsettled.delete(callId);
    return paid;
  }

  /** True the first time a name is asked about: so that a change of a tool is told once, not once a row. */
  firstSight(name: string): boolean {
    if (this.#warned.has(name)) return false;
    this.#warned.add(name);
    return true;
  }

  /** An answer that the tool could not read was paid for all the same, and is read again. */
  async #withoutFailures(entries: readonly CallEntry[]): Promise<readonly CallEntry[]> {
    const again = entries.filter((entry) => entry.error !== null && !isFinalFailure(entry.error));
    const paid = again.filter((entry) => entry.receiptId !== null);
    const receipts = await this.#reads.receiptsByIds(paid.map((entry) => entry.receiptId ?? 0));
    for (const [index, receipt] of receipts.entries())
      if (receipt !== undefined) this.#unsettled.set(receipt.callId, { receipt, settled: paid[index]?.credits ?? 0 });
    return entries.filter((entry) => !again.includes(entry));
  }
}
