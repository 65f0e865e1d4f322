import { digestPrefix48 } from '../../../scope/index.ts';
import type { NewReceipt } from '../../records.ts';
import type { WriteOf } from '../../write-of.ts';
import { BatchInsert } from '../batch-insert.ts';
import type { Database } from '../driver.ts';
import type { KeyIndex } from '../key-index.ts';
import type { LargeRaws } from '../large-raws.ts';
import type { Origins } from '../origins.ts';

const HEAD = 'INSERT INTO receipts (id, key_hash48, origin_no, at, duration_ms, key, call_id, input, raw)';

/** Appends receipts under the next ids. The ids are taken back if the transaction is rolled back. */
export class ReceiptInsert {
  readonly #db: Database;
  readonly #parts: { readonly origins: Origins; readonly index: KeyIndex; readonly large: LargeRaws };
  readonly #insert: BatchInsert;
  #hashes: number[] = [];
  #firstId = 0;

  constructor(db: Database, parts: { readonly origins: Origins; readonly index: KeyIndex; readonly large: LargeRaws }) {
    this.#db = db;
    this.#parts = parts;
    this.#insert = new BatchInsert(db, HEAD, 9);
  }

  add(write: WriteOf<'receipt'>): void {
    if (this.#hashes.length === 0) {
      this.#parts.index.catchUpLocked();
      this.#firstId = this.#parts.index.seen + 1;
    }
    const id = this.#firstId + this.#hashes.length;
    const receipt: NewReceipt = write.receipt;
    const hash = digestPrefix48(receipt.key);
    const large = this.#parts.large.of(receipt);
    this.#insert.waiting.push(
      id,
      hash,
      this.#parts.origins.no(receipt),
      receipt.at,
      receipt.durationMs,
      receipt.key,
      receipt.callId,
      receipt.input,
      large === undefined ? receipt.raw : null,
    );
    this.#insert.added();
    if (large !== undefined)
      this.#db.run(
        'INSERT INTO receipt_raws (receipt_id, bytes, deflated) VALUES (?, ?, ?)',
        id,
        large.bytes,
        large.deflated,
      );
    this.#hashes.push(hash);
    write.id = id;
  }

  /** How many receipts the open transaction adds. */
  get added(): number {
    return this.#hashes.length;
  }

  flush(): void {
    this.#insert.flush();
  }

  committed(): void {
    if (this.#hashes.length === 0) return;
    for (let at = 0; at < this.#hashes.length; at++) this.#parts.index.add(this.#firstId + at, this.#hashes[at] ?? 0);
    this.#hashes = [];
  }

  rolledBack(): void {
    this.#insert.clear();
    this.#hashes = [];
  }
}
