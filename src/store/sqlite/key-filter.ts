/** 2 MB: at a million receipts one new key in sixteen is asked about for nothing. */
const BITS = 2 ** 24;

/** Tells hashes that were never added from those that may have been (a Bloom filter of one hash, as they are digests). */
export class KeyFilter {
  readonly #words = new Uint32Array(BITS / 32);

  add(hash: number): void {
    const bit = hash % BITS;
    this.#words[bit >>> 5] = (this.#words[bit >>> 5] ?? 0) | (1 << (bit & 31));
  }

  mayHave(hash: number): boolean {
    const bit = hash % BITS;
    return ((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }
}
