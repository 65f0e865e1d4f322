/**
 * The keys of all rows of a dataset while it is admitted.
 *
 * Owns: 128 bits of each row's key digest, in order, and where each key came first.
 * Does not own: how a key is made of a row (keys), or what a repeated key means (admission).
 *
 * Invariants
 *  1. Two rows are the same key only if all 128 bits are: equal short hashes lead to a comparison, never to a verdict.
 *  2. Memory is 24 to 32 bytes a row: no strings, no objects for rows.
 *  3. No key costs more than a few milliseconds: tables grow one at a time, each a small share of the whole (one table of
 *     a million keys held the event loop for 200 ms).
 */

export const KEY_BYTES = 16;
const BLOCK_ROWS = 65_536;
const WORDS = KEY_BYTES / 4;
const TABLES = 64;
const SMALLEST_TABLE = 16;

interface Block {
  readonly bytes: Buffer;
  readonly words: Uint32Array;
}

/** Ordinal + 1 of the first row with a key; 0 is a free slot. Open addressing, at most 70% full. */
interface Table {
  slots: Int32Array;
  distinct: number;
}

export class KeyIndex {
  readonly #blocks: Block[] = [];
  readonly #tables = Array.from({ length: TABLES }, (): Table => {
    return { slots: new Int32Array(SMALLEST_TABLE), distinct: 0 };
  });
  #size = 0;
  readonly #repeats = new Map<number, Int32Array>();

  get size(): number {
    return this.#size;
  }

  /**
   * Adds the next row's key: at least 32 hexadecimal digits, of which the first 32 count.
   * Returns the ordinal of the first row with that key, or -1 where this is it.
   */
  append(hex: string): number {
    const ordinal = this.#size++;
    this.#write(ordinal, hex);
    return this.#claim(ordinal);
  }

  /** Gives the row that was added last another key, which no lookup will ever find: an occurrence of a repeated content. */
  renameLast(hex: string): void {
    this.#write(this.#size - 1, hex);
  }

  /** How often the key of this first row has come again so far, this time included: 1, 2, 3 … */
  countRepeat(first: number): number {
    const number = Math.floor(first / BLOCK_ROWS);
    let counts = this.#repeats.get(number);
    if (counts === undefined) {
      counts = new Int32Array(BLOCK_ROWS);
      this.#repeats.set(number, counts);
    }
    const at = first % BLOCK_ROWS;
    const count = (counts[at] ?? 0) + 1;
    counts[at] = count;
    return count;
  }

  /** Keys of rows [first, first + count), 16 bytes each: a copy. */
  bytes(first: number, count: number): Uint8Array {
    const out = new Uint8Array(count * KEY_BYTES);
    for (let done = 0; done < count; ) {
      const ordinal = first + done;
      const at = ordinal % BLOCK_ROWS;
      const rows = Math.min(count - done, BLOCK_ROWS - at);
      const block = this.#blocks[Math.floor(ordinal / BLOCK_ROWS)];
      if (block !== undefined) out.set(block.bytes.subarray(at * KEY_BYTES, (at + rows) * KEY_BYTES), done * KEY_BYTES);
      done += rows;
    }
    return out;
  }

  #write(ordinal: number, hex: string): void {
    const number = Math.floor(ordinal / BLOCK_ROWS);
    let block = this.#blocks[number];
    if (block === undefined) {
      const memory = new ArrayBuffer(BLOCK_ROWS * KEY_BYTES);
      block = { bytes: Buffer.from(memory), words: new Uint32Array(memory) };
      this.#blocks[number] = block;
    }
    block.bytes.write(hex, (ordinal % BLOCK_ROWS) * KEY_BYTES, KEY_BYTES, 'hex');
  }

  #claim(ordinal: number): number {
    const table = this.#tables[this.#word(ordinal, 1) & (TABLES - 1)];
    if (table === undefined) return -1;
    if ((table.distinct + 1) * 10 > table.slots.length * 7) this.#grow(table);
    const { slots } = table;
    const mask = slots.length - 1;
    for (let slot = this.#word(ordinal, 0) & mask; ; slot = (slot + 1) & mask) {
      const taken = slots[slot] ?? 0;
      if (taken === 0) {
        slots[slot] = ordinal + 1;
        table.distinct++;
        return -1;
      }
      if (this.#equal(taken - 1, ordinal)) return taken - 1;
    }
  }

  #grow(table: Table): void {
    const slots = new Int32Array(table.slots.length * 2);
    const mask = slots.length - 1;
    for (const taken of table.slots) {
      if (taken === 0) continue;
      let slot = this.#word(taken - 1, 0) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = taken;
    }
    table.slots = slots;
  }

  #word(ordinal: number, number: number): number {
    const block = this.#blocks[Math.floor(ordinal / BLOCK_ROWS)];
    return block?.words[(ordinal % BLOCK_ROWS) * WORDS + number] ?? 0;
  }

  #equal(left: number, right: number): boolean {
    for (let number = 0; number < WORDS; number++)
      if (this.#word(left, number) !== this.#word(right, number)) return false;
    return true;
  }
}

/** Rows of a stored piece of keys whose key is one of `wanted` (32 hexadecimal digits each), as [offset in rows, key]. */
export function* findKeys(keys: Uint8Array, wanted: ReadonlySet<string>): Generator<readonly [number, string]> {
  const bytes = Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength);
  const heads = new Set([...wanted].map((hex) => Number.parseInt(hex.slice(0, 8), 16)));
  for (let row = 0; row * KEY_BYTES < bytes.length; row++) {
    if (!heads.has(bytes.readUInt32BE(row * KEY_BYTES))) continue;
    const hex = keyHex(keys, row);
    if (wanted.has(hex)) yield [row, hex];
  }
}

/** The key of a row in a stored piece of keys, as 32 hexadecimal digits. */
export function keyHex(keys: Uint8Array, row: number): string {
  return Buffer.from(keys.buffer, keys.byteOffset + row * KEY_BYTES, KEY_BYTES).toString('hex');
}
