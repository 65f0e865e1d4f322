import type { Place } from '../scope/index.ts';

/** What a pool of rows tells of itself. */
export interface Crowd {
  /** Nothing further starts before one of these rows in flight ends; 0 once something may. */
  stuck(rows: number): void;
  close(): void;
}

interface Pool {
  readonly grow: (rows: number) => void;
  /** Rows with calls that wait in a batch, and how many. */
  readonly waiting: Map<number, number>;
  stuck: number;
}

/**
 * Whether the rows of a pool wait for nothing but batches.
 *
 * Owns: which rows of which pool have calls in a batch that is not due yet.
 *
 * Invariant: `full` is told in the very moment in which a pool can start nothing and every row in it waits for a batch,
 * whichever of the two came last.
 */
export class Crowds {
  readonly #full: () => void;
  readonly #pools = new Map<number, Pool>();

  constructor(full: () => void) {
    this.#full = full;
  }

  open(datasetNo: number, grow: (rows: number) => void): Crowd {
    const pool: Pool = { grow, waiting: new Map(), stuck: 0 };
    this.#pools.set(datasetNo, pool);
    return {
      stuck: (rows) => {
        pool.stuck = rows;
        this.#look(pool);
      },
      close: () => this.#pools.delete(datasetNo),
    };
  }

  /** A call of this row waits in a batch for so many questions. The pool grows, so that twice as many rows can ask. */
  joins({ datasetNo, ordinal }: Place, maxSize: number): void {
    const pool = this.#pools.get(datasetNo);
    if (pool === undefined) return;
    pool.grow(2 * maxSize);
    pool.waiting.set(ordinal, (pool.waiting.get(ordinal) ?? 0) + 1);
    this.#look(pool);
  }

  leaves({ datasetNo, ordinal }: Place): void {
    const waiting = this.#pools.get(datasetNo)?.waiting;
    const calls = waiting?.get(ordinal) ?? 0;
    if (calls > 1) waiting?.set(ordinal, calls - 1);
    else waiting?.delete(ordinal);
  }

  #look({ stuck, waiting }: Pool): void {
    if (stuck > 0 && waiting.size >= stuck) this.#full();
  }
}
