import { creditsOf, microCredits, type Place } from '../../scope/index.ts';
import { Database } from './driver.ts';
import { holdLeft, leaveTries } from './left-credits.ts';
import type { RatesFile } from './rates-file.ts';

/** A paid call that goes out. */
export interface OpenTry {
  readonly callId: string;
  readonly place: Place;
  /** The most that it may cost. */
  readonly credits: number;
  /** True where it is charged once however often it goes out. */
  readonly isKeyed: boolean;
}

/** What is known of a call's tries that nothing else is on record of. */
export interface LeftTry extends OpenTry {
  /** What earlier tries of it may have cost, whose answers were lost. */
  readonly lost: number;
}

interface TryRow {
  readonly callId: string;
  readonly datasetNo: number;
  readonly ordinal: number;
  readonly keyed: number;
  readonly out: number;
  readonly lost: number;
}

interface Change {
  readonly make: (db: Database) => void;
  readonly made: () => void;
}

const OUT = `INSERT INTO open_tries (run, call, root, dataset_no, ordinal, keyed, out, lost, session) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)
  ON CONFLICT (run, call) DO UPDATE SET keyed = excluded.keyed, out = excluded.out, session = excluded.session`;
const OF_RUN = `SELECT call AS callId, dataset_no AS datasetNo, ordinal, keyed, out, lost FROM open_tries WHERE run = ?`;

/**
 * Paid calls that are out at providers, in `rates.db`: what a kill leaves of them is what they may have cost.
 *
 * Owns: the rows of this session, and what `left` holds of the ledgers for those of sessions that are gone.
 *
 * Invariants
 *  1. Once `sent` has resolved, a kill of this process leaves the try on record. A machine that stops, or a file that must be
 *     remade, may forget it; nothing is ever held up by it.
 *  2. Changes are made in their order, all of a turn in one transaction.
 *  3. What a session that is gone had out goes on being held by the ledgers that it drew on, until its run goes on or the
 *     period of the ledger ends.
 */
export class TryLog {
  readonly #file: RatesFile;
  #due: Change[] = [];
  #making: Promise<void> | undefined;
  #makingNow: Promise<void> | undefined;
  #waitsForLock = false;

  constructor(file: RatesFile) {
    this.#file = file;
  }

  /**
   * Resolves when they are on record, in this very turn of the event loop: the slots that they go out in are counted from now.
   * Where another process has the lock they are on record soon after.
   */
  sent(run: { readonly id: string; readonly rootId: string }, tries: readonly OpenTry[]): Promise<void> {
    const { session, connection } = this.#file;
    const changed = this.#change((db) => {
      for (const { callId, place, credits, isKeyed } of tries) {
        const where = [run.id, callId, run.rootId, place.datasetNo, place.ordinal];
        db.run(OUT, ...where, isKeyed ? 1 : 0, microCredits(credits), session);
      }
    });
    if (connection === undefined) return changed;
    // All that goes out in this turn in one transaction.
    this.#makingNow ??= Promise.resolve().then(() => this.#makeNow());
    return this.#makingNow;
  }

  /** `lost`: they may have been charged, and no answer says so. Resolves when that is on record. */
  ended(runId: string, callIds: readonly string[], how: 'known' | 'lost'): Promise<void> {
    const { session } = this.#file;
    const own = 'WHERE run = ? AND call = ? AND session = ?';
    return this.#change((db) => {
      for (const callId of callIds) {
        const of = [runId, callId, session];
        if (how === 'lost') db.run(`UPDATE open_tries SET lost = lost + out, out = 0 ${own}`, ...of);
        // Under its key it has been charged once, whatever became of the tries before.
        else if (db.run(`DELETE FROM open_tries ${own} AND (keyed = 1 OR lost = 0)`, ...of) === 0)
          db.run(`UPDATE open_tries SET out = 0 ${own}`, ...of);
      }
    });
  }

  /** What the run's attempts have left, dead and alive. */
  async ofRun(runId: string): Promise<readonly LeftTry[]> {
    await this.#making;
    return (await this.#file.transact((db) => db.all<TryRow>(OF_RUN, runId))).map(leftTry);
  }

  /**
   * The tries that the run's dead attempts had out are this session's now: those that `how` says `lost` or `known` of as if
   * they had been its own, all others as if it had sent them.
   */
  take(runId: string, how: ReadonlyMap<string, 'known' | 'lost' | 'out'>): Promise<void> {
    const { session } = this.#file;
    const taken = this.#change((db) => {
      for (const [callId] of how) {
        const of = [runId, callId];
        const left = 'SELECT root, out FROM open_tries WHERE run = ? AND call = ? AND session IS NULL';
        const row = db.get<{ root: string; out: number }>(left, ...of);
        if (row !== undefined) holdLeft(db, row.root, -row.out);
        db.run('UPDATE open_tries SET session = ? WHERE run = ? AND call = ?', session, ...of);
      }
    });
    for (const ending of ['known', 'lost'] as const)
      void this.ended(
        runId,
        [...how].flatMap(([callId, so]) => (so === ending ? [callId] : [])),
        ending,
      );
    return taken;
  }

  /** Nobody has taken these up: they are left as they were. */
  leave(runId: string, callIds: readonly string[]): void {
    const { session } = this.#file;
    void this.#change((db) => {
      for (const callId of callIds) leaveTries(db, 'run = ? AND call = ? AND session = ?', [runId, callId, session]);
    });
  }

  /** Before the end: what is due is made, with the lock waited for. */
  flush(): void {
    const due = this.#due.splice(0);
    this.#file.transactNow((db) => makeIn(db, due));
    for (const { made } of due) made();
  }

  #change(make: Change['make']): Promise<void> {
    return new Promise((made) => {
      this.#due.push({ make, made });
      // All of a turn in one transaction.
      this.#making ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#makeAll());
    });
  }

  #makeNow(): void {
    this.#makingNow = undefined;
    if (this.#waitsForLock || this.#due.length === 0) return;
    const due = this.#due.splice(0);
    try {
      // What could not be made comes first in the next transaction.
      if (this.#file.transactNow((db) => makeIn(db, due)) === undefined) return void this.#due.unshift(...due);
    } catch {
      // As in #makeAll.
    }
    for (const { made } of due) made();
  }

  async #makeAll(): Promise<void> {
    while (this.#due.length > 0) {
      const due = this.#due.splice(0);
      this.#waitsForLock = true;
      try {
        await this.#file.transact((db) => makeIn(db, due));
      } catch {
        // Where it can't be written nobody is held up: a full disk is the store's to tell.
      }
      this.#waitsForLock = false;
      for (const { made } of due) made();
    }
    this.#making = undefined;
  }
}

function makeIn(db: Database, changes: readonly Change[]): void {
  for (const { make } of changes) make(db);
}

/** What a run's attempts have left, for whoever only looks: none where the file cannot be read. */
export function leftTries(path: string, runId: string): readonly LeftTry[] {
  let db: Database | undefined;
  try {
    db = new Database(path, { readOnly: true });
    return db.all<TryRow>(OF_RUN, runId).map(leftTry);
  } catch {
    return [];
  } finally {
    db?.close();
  }
}

function leftTry({ callId, datasetNo, ordinal, keyed, out, lost }: TryRow): LeftTry {
  return {
    callId,
    place: { datasetNo, ordinal },
    credits: creditsOf(out),
    lost: creditsOf(lost),
    isKeyed: keyed === 1,
  };
}
