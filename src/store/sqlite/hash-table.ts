const EMPTY = -1;
const SMALLEST = 1_024;

/**
 * From 48-bit hashes to receipt ids, several of which may have one hash. Outside the JavaScript heap: a Map of as many
 * numbers as wait to be merged would be the larger part of what the garbage collector has to look at.
 */
export class HashTable {
  #hashes = new Float64Array(SMALLEST).fill(EMPTY);
  #ids = new Float64Array(SMALLEST);
  #size = 0;

  /** Number of ids. */
  get size(): number {
    return this.#size;
  }

  add(hash: number, id: number): void {
    if (this.#size * 2 >= this.#hashes.length) this.#grow();
    let slot = hash % this.#hashes.length;
    while (this.#hashes[slot] !== EMPTY) slot = (slot + 1) % this.#hashes.length;
    this.#hashes[slot] = hash;
    this.#ids[slot] = id;
    this.#size++;
  }

  /** Appends the ids of a hash to `found`, in the order they were added. */
  find(hash: number, found: number[]): void {
    for (let slot = hash % this.#hashes.length; this.#hashes[slot] !== EMPTY; slot = (slot + 1) % this.#hashes.length)
      if (this.#hashes[slot] === hash) found.push(this.#ids[slot] ?? 0);
  }

  /** The hashes in ascending order, each once. */
  sorted(): Float64Array {
    const all = this.#hashes.slice().sort();
    let count = 0;
    for (const hash of all) if (hash !== EMPTY && hash !== all[count - 1]) all[count++] = hash;
    return all.subarray(0, count);
  }

  #grow(): void {
    const hashes = this.#hashes;
    const ids = this.#ids;
    this.#hashes = new Float64Array(hashes.length * 2).fill(EMPTY);
    this.#ids = new Float64Array(hashes.length * 2);
    this.#size = 0;
    // From the slot after an empty one, so that ids of one hash keep their order also where they wrap around.
    const start = hashes.indexOf(EMPTY);
    for (let at = 0; at < hashes.length; at++) {
      const slot = (start + at) % hashes.length;
      const hash = hashes[slot] ?? EMPTY;
      if (hash !== EMPTY) this.add(hash, ids[slot] ?? 0);
    }
  }
}
