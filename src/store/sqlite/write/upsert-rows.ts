import type { WriteOf } from '../../write-of.ts';
import { BatchInsert } from '../batch-insert.ts';
import { rowState } from '../codes.ts';
import type { Database } from '../driver.ts';
import type { Spaces } from '../spaces.ts';

const HEAD = 'INSERT OR REPLACE INTO rows (place, state, credits, at, cells, error, trace)';

/** Keeps how rows ended. The same row again replaces its record. */
export class RowUpsert {
  readonly #spaces: Spaces;
  readonly #insert: BatchInsert;

  constructor(db: Database, spaces: Spaces) {
    this.#spaces = spaces;
    this.#insert = new BatchInsert(db, HEAD, 7);
  }

  add(write: WriteOf<'row'>): void {
    const { row } = write;
    this.#insert.waiting.push(
      this.#spaces.place(write.fence.runNo, write.datasetNo, row.ordinal),
      rowState.number(row.state),
      row.credits,
      row.at,
      row.cells,
      row.error,
      row.trace,
    );
    this.#insert.added();
  }

  flush(): void {
    this.#insert.flush();
  }

  rolledBack(): void {
    this.#insert.clear();
  }
}
