import { creditsOf, microCredits, type Place } from '../../scope/index.ts';
import { Database } from './driver.ts';
import { COUNTED, type Counted, DAY, giveBackLost, leaveTries, takeLeft } from './left-credits.ts';
import { HELD_AFTER_MS, type RatesFile } from './rates-file.ts';

/** A paid call that goes out. */
export interface OpenTry {
  readonly callId: string;
  readonly place: Place;
  readonly tool: string;
  /** The most that it may cost. */
  readonly credits: number;
}

/** What is known of a call's tries that nothing else is on record of. */
export interface LeftTry extends OpenTry {
  /** Under which it is charged once however often it goes out; undefined where it has none. */
  readonly operationKey: string | undefined;
  /** What tries of it may have cost whose answers were lost. */
  readonly lost: number;
  /** That part of it which was lost under another key, or none: nothing that goes out under this one is charged for it. */
  readonly lostBefore: number;
  /** False where the day's limit has counted that on an earlier day. */
  readonly isOfDay: boolean;
}

interface TryRow {
  readonly callId: string;
  readonly datasetNo: number;
  readonly ordinal: number;
  readonly tool: string;
  readonly key: string | null;
  readonly out: number;
  readonly lost: number;
  readonly lostBefore: number;
  readonly ofDay: number;
}

const OUT = `INSERT INTO open_tries (run, call, root, dataset_no, ordinal, tool, operation_key, out, lost, session)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)
  ON CONFLICT (run, call) DO UPDATE SET operation_key = excluded.operation_key, out = excluded.out,
    lost_before = iif(operation_key = excluded.operation_key, lost_before, lost), session = excluded.session`;
const OF_RUN = `SELECT call AS callId, dataset_no AS datasetNo, ordinal, tool, operation_key AS key, out, lost,
  lost_before AS lostBefore, day IS ${DAY} AS ofDay FROM open_tries WHERE run = ?`;
const AGAIN = `UPDATE open_tries SET out = lost - lost_before, lost = lost_before, session = ?
  WHERE run = ? AND call = ? AND out = 0 AND lost > lost_before`;
const FOUND = 'UPDATE open_tries SET lost = lost_before WHERE run = ? AND call = ?';
const IDLE = 'DELETE FROM open_tries WHERE run = ? AND call = ? AND out = 0 AND lost = 0';
const OWN = 'WHERE run = ? AND call = ? AND session = ?';
const LOST = `UPDATE open_tries SET lost = lost + out, out = 0, day = ${DAY} ${OWN} AND out > 0`;
const KNOWN = `DELETE FROM open_tries ${OWN} AND lost = 0`;
const NOT_OUT = `UPDATE open_tries SET out = 0 ${OWN}`;

/** What becomes of what a run's attempts have left: `known` elsewhere, `lost`, or `out` (again), now this session's. */
export type TakenAs = 'known' | 'lost' | 'out';

/**
 * Paid calls that are out at providers, in `rates.db`: what a kill leaves of them is what they may have cost.
 *
 * Owns: the rows of this session, and what `left` holds of the ledgers for those of sessions that are gone.
 *
 * Invariants
 *  1. Once `sent` has resolved, a kill of this process leaves the try on record. A machine that stops, or a file that must be
 *     remade, may forget it; nothing is ever held up by it.
 *  2. What a row has `out` its ledgers hold as reserved, what it has `lost` they count as settled: both change in one
 *     transaction, since what a ledger is told in the same turn is made with it.
 *  3. What a session that is gone had out goes on being held by the ledgers that it drew on, until its run goes on or the
 *     period of the ledger ends.
 */
export class TryLog {
  readonly #file: RatesFile;
  #making: Promise<void> | undefined;

  constructor(file: RatesFile) {
    this.#file = file;
  }

  /**
   * They go out as one operation. Resolves when they are on record, in this very turn of the event loop: the slots that they go out in are counted from now.
   * Where another process has the lock they are on record soon after.
   */
  sent(
    run: { readonly id: string; readonly rootId: string },
    tries: readonly OpenTry[],
    operationKey: string | undefined,
  ): Promise<void> {
    const { session, connection } = this.#file;
    const { id, rootId } = run;
    const change = (db: Database): void => {
      const key = operationKey ?? null;
      for (const { callId, place, tool, credits } of tries)
        db.run(OUT, id, callId, rootId, place.datasetNo, place.ordinal, tool, key, microCredits(credits), session);
    };
    if (connection === undefined) return this.#change(change);
    this.#file.soon(change);
    // All that goes out in this turn in one transaction.
    this.#making ??= Promise.resolve().then(() => {
      this.#making = undefined;
      this.#file.makeNow();
    });
    return this.#making;
  }

  /** `lost`: they may have been charged, and no answer says so. Resolves when that is on record. */
  ended(runId: string, callIds: readonly string[], how: 'known' | 'lost'): Promise<void> {
    const { session } = this.#file;
    return this.#change((db) => {
      for (const callId of callIds) {
        if (how === 'lost') db.run(LOST, runId, callId, session);
        // What was lost before and is not out again may have been charged besides.
        else if (db.run(KNOWN, runId, callId, session) === 0) db.run(NOT_OUT, runId, callId, session);
      }
    });
  }

  /** What was lost of it under its key is out again; whoever says so tells the ledgers. */
  again(runId: string, callId: string): void {
    void this.#change((db) => db.run(AGAIN, this.#file.session, runId, callId));
  }

  /** What was lost of it under its key is known now; whoever says so has told the ledgers. */
  found(runId: string, callId: string): void {
    void this.#change((db) => {
      db.run(FOUND, runId, callId);
      db.run(IDLE, runId, callId);
    });
  }

  /** What was lost of it was not charged: the ledgers have it back. Resolves when that is on record. */
  async undone(runId: string, callId: string): Promise<void> {
    await this.#file.transact((db) => {
      const row = db.get<Counted>(COUNTED, runId, callId);
      if (row === undefined) return;
      giveBackLost(db, row);
      db.run('UPDATE open_tries SET lost = 0, lost_before = 0 WHERE run = ? AND call = ?', runId, callId);
      db.run(IDLE, runId, callId);
    });
  }

  /** What the run's attempts have left, dead and alive. */
  async ofRun(runId: string): Promise<readonly LeftTry[]> {
    return (await this.#file.transact((db) => db.all<TryRow>(OF_RUN, runId))).map(leftTry);
  }

  /** Runs that have paid calls on record. */
  async runIds(): Promise<readonly string[]> {
    const runs = await this.#file.transact((db) =>
      db.all<{ run: string }>('SELECT DISTINCT run FROM open_tries WHERE out > 0 OR lost > lost_before'),
    );
    return runs.map(({ run }) => run);
  }

  /** What the run's attempts have left, as `how` says of each; whoever says so tells the ledgers. */
  take(runId: string, how: ReadonlyMap<string, TakenAs>): Promise<void> {
    const { session } = this.#file;
    const taken = this.#change((db) => {
      for (const [callId, so] of how) {
        const row = db.get<Counted>(`${COUNTED} AND session IS NULL`, runId, callId);
        if (row !== undefined) takeLeft(db, row);
        db.run('UPDATE open_tries SET session = ? WHERE run = ? AND call = ?', session, runId, callId);
        if (so === 'out') db.run(AGAIN, session, runId, callId);
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

  #change(make: (db: Database) => unknown): Promise<void> {
    return new Promise((made) => this.#file.soon(make, made));
  }
}

/** What a run's attempts have left, for whoever only looks: none where the file cannot be read. */
export function leftTries(path: string, runId: string): readonly LeftTry[] {
  let db: Database | undefined;
  try {
    db = new Database(path, { readOnly: true });
    // After a kill whoever comes first recovers the file, and all others find it locked meanwhile.
    db.exec(`PRAGMA busy_timeout = ${HELD_AFTER_MS}`);
    return db.all<TryRow>(OF_RUN, runId).map(leftTry);
  } catch {
    return [];
  } finally {
    db?.close();
  }
}

function leftTry({ callId, datasetNo, ordinal, tool, key, out, lost, lostBefore, ofDay }: TryRow): LeftTry {
  return {
    callId,
    place: { datasetNo, ordinal },
    tool,
    credits: creditsOf(out),
    operationKey: key ?? undefined,
    lost: creditsOf(lost),
    lostBefore: creditsOf(lostBefore),
    isOfDay: ofDay === 1,
  };
}
