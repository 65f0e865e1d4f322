import type { Database, SqlValue, Statement } from './driver.ts';

const ROWS_AT_ONCE = 8;

/**
 * One INSERT for eight rows: a fifth less processor time than eight statements. Rows wait in memory until eight are
 * there or `flush` is called; all waiting rows must be flushed before the table is read or written in another way.
 */
export class BatchInsert {
  /** What waits. A row is put here with one `push`, which makes no array of its own; then `added` is called. */
  readonly waiting: SqlValue[] = [];
  readonly #columns: number;
  readonly #many: Statement;
  readonly #one: Statement;

  /** `head` is everything up to VALUES, `columns` the number of values a row. */
  constructor(db: Database, head: string, columns: number) {
    const row = `(${Array(columns).fill('?').join(',')})`;
    this.#columns = columns;
    this.#many = db.statement(`${head} VALUES ${Array(ROWS_AT_ONCE).fill(row).join(',')}`);
    this.#one = db.statement(`${head} VALUES ${row}`);
  }

  /** To be called after the values of a row were put into `waiting`. */
  added(): void {
    if (this.waiting.length < this.#columns * ROWS_AT_ONCE) return;
    this.#many.run(...this.waiting);
    this.waiting.length = 0;
  }

  flush(): void {
    const { waiting } = this;
    for (let at = 0; at < waiting.length; at += this.#columns) this.#one.run(...waiting.slice(at, at + this.#columns));
    waiting.length = 0;
  }

  /** Forgets the waiting rows, after a rollback. */
  clear(): void {
    this.waiting.length = 0;
  }
}
