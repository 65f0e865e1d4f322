import { Turnstile } from '../../scope/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import type { CallReads, DatasetReads, ReportReads, RunReads, Store, Unit, UnitOutcome } from '../port.ts';
import type { Database } from './driver.ts';
import { isHeld, isHopeless, storeError } from './errors.ts';
import { KeyIndex } from './key-index.ts';
import { LargeRaws } from './large-raws.ts';
import { createReader } from './reader.ts';
import { callReads, datasetReads, reportReads, runReads } from './reads.ts';
import { breathe, type WaitOptions, whenFree } from './waiting.ts';
import { Writer } from './writer.ts';

const PROBE_BYTES = 65_536;
/** How long a write waits for a lock for which one before it has waited in vain (ms). */
const STILL_HELD_MS = 250;
const DONE: UnitOutcome = { ok: true };

export interface SqliteStoreParts extends WaitOptions {
  /** See KeyIndex. */
  readonly largestLot: number | undefined;
}

/**
 * The Store port on one SQLite connection.
 *
 * Owns: the transaction, and what becomes of a unit whose group failed.
 * Does not own: grouping (group-commit.ts), statements (write/, read/).
 *
 * Invariants
 *  1. A transaction opens and ends within one turn of the event loop, so no read ever sees half of one.
 *  2. Groups are committed one at a time, in the order of `commit` calls.
 *  3. An outcome that says ok is on disk (synchronous=FULL).
 *  4. A lock that is not let go is waited for once, not by every group in a row.
 */
export class SqliteStore implements Store {
  readonly calls: CallReads;
  readonly runs: RunReads;
  readonly datasets: DatasetReads;
  readonly report: ReportReads;
  readonly #db: Database;
  readonly #wait: WaitOptions;
  readonly #index: KeyIndex;
  readonly #large = new LargeRaws();
  readonly #writer: Writer;
  readonly #turnstile = new Turnstile();
  #closed = false;
  /** A write has waited for the lock in vain, and none has been made since. */
  #held = false;

  constructor(db: Database, parts: SqliteStoreParts) {
    this.#db = db;
    this.#wait = parts;
    this.#index = new KeyIndex(db, parts.largestLot);
    this.#writer = new Writer(db, this.#index, this.#large);
    const { spaces, sites, origins } = this.#writer;
    const reader = createReader({ db, spaces, sites, origins, index: this.#index }, parts);
    this.calls = callReads(reader);
    this.runs = runReads(reader);
    this.datasets = datasetReads(reader);
    this.report = reportReads(reader);
  }

  commit(units: readonly Unit[]): Promise<readonly UnitOutcome[]> {
    return this.#turnstile.pass(() => this.#commitGroup(units));
  }

  probe(): Promise<boolean> {
    return this.#turnstile.pass(async () => {
      try {
        await this.#whenFree(() => this.#writeProbe());
        return true;
      } catch {
        return false;
      }
    });
  }

  close(): Promise<void> {
    return this.#turnstile.pass(async () => {
      if (!this.#closed) this.#db.close();
      this.#closed = true;
    });
  }

  async #commitGroup(units: readonly Unit[]): Promise<readonly UnitOutcome[]> {
    try {
      if (this.#closed) throw closedError(this.#db.path);
      if (LargeRaws.in(units)) await this.#large.compress(units);
      await this.#prepare(units);
      await this.#whenFree(() => this.#transact(units));
      return Array(units.length).fill(DONE);
    } catch (error) {
      if (units.length === 1 || this.#closed || isHopeless(error)) return units.map(() => ({ ok: false, error }));
      return await this.#commitEach(units);
    } finally {
      this.#large.clear();
    }
  }

  async #commitEach(units: readonly Unit[]): Promise<readonly UnitOutcome[]> {
    const outcomes: UnitOutcome[] = [];
    for (const unit of units) {
      try {
        await this.#whenFree(() => this.#transact([unit]));
        outcomes.push(DONE);
      } catch (error) {
        outcomes.push({ ok: false, error });
      }
      await breathe();
    }
    return outcomes;
  }

  async #whenFree(work: () => void): Promise<void> {
    const { heldAfterMs } = this.#wait;
    const wait = this.#held ? { ...this.#wait, heldAfterMs: Math.min(STILL_HELD_MS, heldAfterMs) } : this.#wait;
    try {
      await whenFree(work, wait);
      this.#held = false;
    } catch (error) {
      if (isHeld(error)) this.#held = true;
      throw error;
    }
  }

  /** Takes in what other processes wrote, before the lock is held and in pieces. */
  async #prepare(units: readonly Unit[]): Promise<void> {
    for (const unit of units)
      for (const write of unit) if (write.kind === 'receipt') return await this.#index.catchUp();
  }

  #transact(units: readonly Unit[]): void {
    this.#db.begin();
    try {
      for (const unit of units) for (const write of unit) this.#writer.write(write);
      // A unit that is tried alone may be tried on a full disk: it brings no work of others.
      this.#writer.finish(units.length > 1);
      this.#db.commit();
    } catch (error) {
      this.#db.rollback();
      this.#writer.rolledBack();
      takeBack(units);
      throw storeError(error, this.#db.path);
    }
    this.#writer.committed();
  }

  /** A write that needs new pages, so that it does not pass while there is room for nothing else. */
  #writeProbe(): void {
    this.#db.begin();
    try {
      this.#db.run("INSERT OR REPLACE INTO meta VALUES ('probe', zeroblob(?))", PROBE_BYTES);
      this.#db.commit();
    } catch (error) {
      this.#db.rollback();
      throw error;
    }
    this.#db.run("DELETE FROM meta WHERE name = 'probe'");
  }
}

/** Numbers given out by a transaction that did not happen. */
function takeBack(units: readonly Unit[]): void {
  for (const unit of units)
    for (const write of unit) {
      if (write.kind === 'receipt') delete write.id;
      else if (write.kind === 'run') delete write.no;
      else if (write.kind === 'claim') delete write.granted;
      else if (write.kind === 'arm' || write.kind === 'expire') delete write.stored;
      else if (write.kind === 'signal') delete write.outcome;
    }
}

function closedError(path: string): CallsheetError {
  return new CallsheetError('STORE_FAILED', `The database ${path} was closed before this write.`, {
    details: { path },
    next: ['report this: writes must be flushed before the store is closed'],
  });
}
