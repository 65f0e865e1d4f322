import { type Digest, digestPrefix48 } from '../../scope/index.ts';
import { BatchInsert } from './batch-insert.ts';
import type { Database } from './driver.ts';
import { HashTable } from './hash-table.ts';
import { KeyFilter } from './key-filter.ts';
import { breathe } from './waiting.ts';

/**
 * Finds receipts by the first 48 bits of their key. Callers check the full key.
 *
 * Owns: the table `receipt_keys`, the watermark `keys_merged_to`, and the hashes in memory that are not in it yet.
 * Does not own: the receipts.
 *
 * A hash index that grows by random inserts touches one page a receipt. So new hashes gather in memory (the tail); once
 * there are enough of them they become a lot, sorted, which is merged slice by slice with the commits that follow.
 * Neighbours in a lot share pages, and no commit merges more than a slice, so none stalls.
 *
 * Most questions of a first run are new: a filter says so without a look at the table. What other processes, or earlier
 * ones, have merged is read into it piece by piece once enough questions were looked up in vain.
 *
 * Invariants
 *  1. Every committed receipt up to `seen` is in the tail, in the lot, or in the table.
 *  2. The watermark only moves to N when all receipts up to N are in the table; a half merged lot is merged again.
 *  3. `seen` grows with this connection's commits, and under the write lock includes those of all others.
 *  4. The filter is used only while it has every hash of the table.
 */
const SMALLEST_LOT = 8_192;
const LARGEST_LOT = 65_536;
/** Share of the table that a lot should be, so that a lot touches each page of the table several times. */
const LOT_SHARE = 1 / 16;
const SMALLEST_SLICE = 64;
const CATCH_UP_ROWS = 5_000;
const PROBED_AT_ONCE = 32;
/** Look-ups in vain after which reading the table into the filter is worth it. */
const MISSES_BEFORE_FILLING = 1_024;
const FILLED_AT_ONCE = 10_000;

/** Numbers come as two JSON texts: one value for thousands of rows is far quicker than a row each. */
const AFTER = `SELECT json_group_array(id) AS ids, json_group_array(key_hash48) AS hashes
  FROM (SELECT id, key_hash48 FROM receipts WHERE id > ? ORDER BY id LIMIT ${CATCH_UP_ROWS})`;
const PROBE = `SELECT key_hash48, id FROM receipt_keys WHERE key_hash48 IN (${Array(PROBED_AT_ONCE).fill('?').join(',')})`;
const HASHES = `SELECT json_group_array(hash) AS hashes
  FROM (SELECT key_hash48 AS hash FROM receipt_keys WHERE key_hash48 > ? ORDER BY key_hash48 LIMIT ${FILLED_AT_ONCE})`;
const WATERMARK = "SELECT value FROM meta WHERE name = 'keys_merged_to'";

const MERGED = `INSERT OR REPLACE INTO meta VALUES ('keys_merged_to', max(?, coalesce((${WATERMARK}), 0)))`;

interface Lot {
  readonly ids: HashTable;
  /** The hashes of `ids`. */
  readonly sorted: Float64Array;
  readonly upTo: number;
  merged: number;
  /** Hashes that the open transaction has merged. */
  merging: number;
}

export class KeyIndex {
  readonly #db: Database;
  readonly #insert: BatchInsert;
  readonly #largestLot: number;
  #tail = new HashTable();
  #lot: Lot | undefined;
  #seen = 0;
  #dataVersion = -1;
  readonly #filter = new KeyFilter();
  /** The table is in the filter up to this hash; undefined where all of it is. */
  #filledTo: number | undefined;
  #misses = 0;

  /** `largestLot` is for tests, which want merging without 8,192 receipts. */
  constructor(db: Database, largestLot = LARGEST_LOT) {
    this.#db = db;
    this.#largestLot = largestLot;
    this.#insert = new BatchInsert(db, 'INSERT OR IGNORE INTO receipt_keys (key_hash48, id)', 2);
  }

  /** The largest receipt id known; all of them, right after `catchUpLocked`. */
  get seen(): number {
    return this.#seen;
  }

  /** Takes in what other connections have written, in pieces between which the event loop turns. */
  async catchUp(): Promise<void> {
    while (this.#read()) await breathe();
    if (this.#filledTo !== undefined && this.#misses >= MISSES_BEFORE_FILLING) this.#fill(this.#filledTo);
  }

  /** The same at once: for use under the write lock, after `catchUp`, when little can be missing. */
  catchUpLocked(): void {
    while (this.#read());
  }

  /** Adds a receipt of this connection, once it is committed. */
  add(id: number, hash: number): void {
    this.#tail.add(hash, id);
    this.#filter.add(hash);
    this.#seen = id;
  }

  /** Ids that may have these keys, for each key in ascending order. */
  candidates(keys: readonly Digest[]): readonly (readonly number[])[] {
    const hashes = keys.map(digestPrefix48);
    const merged = this.#merged(hashes);
    return hashes.map((hash) => {
      const ids = merged.get(hash) ?? [];
      this.#lot?.ids.find(hash, ids);
      this.#tail.find(hash, ids);
      // A half merged lot is in the table too.
      return ids.length < 2 ? ids : [...new Set(ids)].sort((a, b) => a - b);
    });
  }

  /** Merges the next slice within the open transaction; `added` is how many receipts that transaction adds. */
  merge(added: number): void {
    this.#lot ??= this.#cut();
    const lot = this.#lot;
    if (lot === undefined) return;
    const end = Math.min(lot.sorted.length, lot.merged + Math.max(SMALLEST_SLICE, 2 * added));
    const ids: number[] = [];
    for (let at = lot.merged; at < end; at++) {
      const hash = lot.sorted[at] ?? 0;
      ids.length = 0;
      lot.ids.find(hash, ids);
      for (const id of ids) {
        this.#insert.waiting.push(hash, id);
        this.#insert.added();
      }
    }
    this.#insert.flush();
    lot.merging = end - lot.merged;
    if (end === lot.sorted.length) this.#db.run(MERGED, lot.upTo);
  }

  committed(): void {
    const lot = this.#lot;
    if (lot === undefined) return;
    lot.merged += lot.merging;
    lot.merging = 0;
    if (lot.merged === lot.sorted.length) this.#lot = undefined;
  }

  rolledBack(): void {
    this.#insert.clear();
    if (this.#lot !== undefined) this.#lot.merging = 0;
  }

  #watermark(): number {
    return this.#db.get<{ value: number }>(WATERMARK)?.value ?? 0;
  }

  /** Reads one piece of what is new; true while there may be more. */
  #read(): boolean {
    const version = this.#db.dataVersion();
    if (version === this.#dataVersion) return false;
    const watermark = this.#watermark();
    if (watermark > this.#seen) {
      this.#seen = watermark;
      this.#filledTo = -1;
      this.#misses = 0;
    }
    // Another process may have merged the very lot that this one is at.
    if (this.#lot !== undefined && watermark >= this.#lot.upTo) this.#lot = undefined;
    const rows = this.#db.get<{ ids: string; hashes: string }>(AFTER, this.#seen);
    const ids: number[] = JSON.parse(rows?.ids ?? '[]');
    const hashes: number[] = JSON.parse(rows?.hashes ?? '[]');
    for (const [at, id] of ids.entries()) this.add(id, hashes[at] ?? 0);
    if (ids.length === CATCH_UP_ROWS) return true;
    this.#dataVersion = version;
    return false;
  }

  /** Turns the tail into a lot, if it is long enough. */
  #cut(): Lot | undefined {
    const smallest = Math.min(SMALLEST_LOT, this.#largestLot);
    if (this.#tail.size < smallest) return undefined;
    const wanted = Math.min(this.#largestLot, this.#seen * LOT_SHARE);
    if (this.#tail.size < wanted) return undefined;
    const lot = {
      ids: this.#tail,
      sorted: this.#tail.sorted(),
      upTo: this.#seen,
      merged: 0,
      merging: 0,
    };
    this.#tail = new HashTable();
    return lot;
  }

  /** Reads the next piece of the table into the filter: a few milliseconds, so a piece with each look-up. */
  #fill(from: number): void {
    const hashes: number[] = JSON.parse(this.#db.get<{ hashes: string }>(HASHES, from)?.hashes ?? '[]');
    for (const hash of hashes) this.#filter.add(hash);
    this.#filledTo = hashes.length < FILLED_AT_ONCE ? undefined : hashes.at(-1);
  }

  #merged(hashes: readonly number[]): ReadonlyMap<number, number[]> {
    if (this.#filledTo === undefined) return this.#probe(hashes.filter((hash) => this.#filter.mayHave(hash)));
    const found = this.#probe(hashes);
    this.#misses += hashes.length - found.size;
    return found;
  }

  #probe(hashes: readonly number[]): ReadonlyMap<number, number[]> {
    const found = new Map<number, number[]>();
    for (let at = 0; at < hashes.length; at += PROBED_AT_ONCE) {
      const lot: (number | null)[] = hashes.slice(at, at + PROBED_AT_ONCE);
      while (lot.length < PROBED_AT_ONCE) lot.push(null);
      for (const [hash, id] of this.#db.tuples<[number, number]>(PROBE, ...lot)) {
        const ids = found.get(hash);
        if (ids === undefined) found.set(hash, [id]);
        else ids.push(id);
      }
    }
    return found;
  }
}
