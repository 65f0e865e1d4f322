import type { Fence } from '../../scope/index.ts';
import { runNumberMissing } from '../conflicts.ts';
import { staleAttempt } from '../stale-attempt.ts';
import type { Database } from './driver.ts';

/** Whether state may be written for an attempt: read once a run and transaction. */
export class Fences {
  readonly #db: Database;
  readonly #attempts = new Map<number, number>();
  #last: Fence | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Throws StaleAttemptError where another attempt holds the run, StoreConflict 'run-missing' where there is none. */
  check(fence: Fence): void {
    if (fence === this.#last) return;
    const attempt = this.#attempts.get(fence.runNo) ?? this.#load(fence.runNo);
    if (attempt !== fence.attempt) throw staleAttempt(fence, attempt);
    this.#last = fence;
  }

  /** Forgets what was read: with every transaction, and when an attempt begins within one. */
  forget(): void {
    this.#attempts.clear();
    this.#last = undefined;
  }

  #load(runNo: number): number {
    const run = this.#db.get<{ attempt: number }>('SELECT attempt FROM runs WHERE no = ?', runNo);
    if (run === undefined) throw runNumberMissing(runNo);
    this.#attempts.set(runNo, run.attempt);
    return run.attempt;
  }
}
