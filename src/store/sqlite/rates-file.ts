import { readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import type { Clock } from '../../scope/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import { Database, IN_MEMORY } from './driver.ts';
import { corrupt, isBusy, storeError } from './errors.ts';
import { forgetGonePlaces, forgetPlaces, noteGone } from './gone-places.ts';
import { LEFT, leaveTriesOf } from './left-credits.ts';
import { type WaitOptions, whenFree } from './waiting.ts';

export interface RatesOptions {
  readonly path: string;
  readonly clock: Clock;
  /** One name for each time that a process opens it. */
  readonly session: string;
  /** True of a session whose process certainly no longer exists. */
  readonly isGone: (session: string) => boolean;
  /** When the machine was started, and a name for that; this machine's where it is not given. */
  readonly boot?: { readonly id: string; readonly at: number };
  /** How long another process may hold the lock before a write says STORE_HELD; 10 s if not given. */
  readonly heldAfterMs?: number;
}

export const HELD_AFTER_MS = 10_000;
/** At its end a process cannot wait from the clock; others hold the lock for as long as a disk takes. */
const LAST_WAIT_MS = 1_000;
const FORMAT = 1;

/** Instants in milliseconds since the epoch, credits in millionths. */
const TABLES = `
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS limits (no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS askers (no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS slots (
  limit_no INTEGER, at REAL, asker_no INTEGER, count INTEGER NOT NULL, PRIMARY KEY (limit_no, at, asker_no)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shares (
  limit_no INTEGER, asker_no INTEGER, held INTEGER NOT NULL, unserved_at REAL, unmet INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (limit_no, asker_no)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledgers (name TEXT PRIMARY KEY, period TEXT NOT NULL, settled INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reservations (
  ledger TEXT, session TEXT, credits INTEGER NOT NULL, PRIMARY KEY (ledger, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
  account TEXT, session TEXT, held INTEGER NOT NULL, wanted INTEGER NOT NULL, asked_at REAL NOT NULL, turn INTEGER NOT NULL,
  seen_at REAL NOT NULL DEFAULT 0, keep_ms REAL NOT NULL DEFAULT 0, gone_at REAL, PRIMARY KEY (account, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gates (account TEXT PRIMARY KEY, at REAL NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reached (account TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS open_tries (
  run TEXT, call TEXT, root TEXT NOT NULL, dataset_no INTEGER NOT NULL, ordinal INTEGER NOT NULL, tool TEXT NOT NULL DEFAULT '',
  operation_key TEXT, out INTEGER NOT NULL, lost INTEGER NOT NULL, lost_before INTEGER NOT NULL DEFAULT 0, day TEXT,
  session TEXT, PRIMARY KEY (run, call)
) WITHOUT ROWID;
`;

/** Columns that a file of an earlier build lacks. */
const LATER_COLUMNS = [
  ['shares', 'unmet', 'INTEGER NOT NULL DEFAULT 0'],
  ['places', 'seen_at', 'REAL NOT NULL DEFAULT 0'],
  ['places', 'keep_ms', 'REAL NOT NULL DEFAULT 0'],
  ['places', 'gone_at', 'REAL'],
  ['open_tries', 'day', 'TEXT'],
  ['open_tries', 'tool', "TEXT NOT NULL DEFAULT ''"],
  ['open_tries', 'operation_key', 'TEXT'],
  ['open_tries', 'lost_before', 'INTEGER NOT NULL DEFAULT 0'],
] as const;
/** Columns that only a file of an earlier build has. */
const FORMER_COLUMNS = [['open_tries', 'keyed']] as const;

interface Change {
  readonly make: (db: Database) => unknown;
  readonly made: (() => void) | undefined;
}

interface MetaRow {
  readonly name: string;
  readonly value: string | number;
}

/**
 * What processes on one workspace share about limits: a SQLite file beside the store.
 *
 * Owns: the connection, opened at the first use; the file's life: made, taken over from sessions that are gone, remade
 * where it is damaged. Does not own: what is in the tables (rate-slots, inflight-places, closed-gates,
 * reached-accounts, credit-ledger, try-log).
 *
 * Invariants
 *  1. A transaction opens and ends in one turn of the event loop. Another process's lock is waited for from the clock.
 *  2. Nothing is synced, so only a machine that stops can take what was committed: after another start of the machine, and
 *     no clean end before it, what was granted until that start counts as lost (`lostAt`), as it does in a file that had
 *     to be remade.
 *  3. A file that cannot be used never stops anyone: it is put aside, and where no other can be made, kept in memory.
 *  4. What is due is made in its order, in one transaction with whatever is done next.
 */
export class RatesFile {
  readonly session: string;
  readonly isGone: (session: string) => boolean;
  readonly #options: RatesOptions;
  readonly #wait: WaitOptions;
  #db: Database | undefined;
  #opening: Promise<Database> | undefined;
  #inode: number | undefined;
  #isDamaged = false;
  #lostAt: number | undefined;
  #closed = false;
  #due: Change[] = [];
  #making = false;

  constructor(options: RatesOptions) {
    this.#options = options;
    this.session = options.session;
    this.isGone = options.isGone;
    const { clock, path, heldAfterMs = HELD_AFTER_MS } = options;
    this.#wait = { clock, path, heldAfterMs };
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /** What was granted up to this instant may not be here. */
  get lostAt(): number | undefined {
    return this.#lostAt;
  }

  /** The connection, where there is one now; another one from the time on at which a file was remade. */
  get connection(): Database | undefined {
    return this.#db;
  }

  /** One transaction: at once, or a promise where the file must be opened first or another process holds the lock. */
  transact<T>(work: (db: Database) => T): T | Promise<T> {
    const done = this.transactNow(work);
    return done === undefined ? this.#transactLater(work) : done.result;
  }

  /** One transaction at once; undefined where that cannot be, and nothing has been done. */
  transactNow<T>(work: (db: Database) => T): { readonly result: T } | undefined {
    if (this.#db === undefined) return undefined;
    try {
      return { result: this.#do(this.#db, work) };
    } catch (error) {
      if (isBusy(error)) return undefined;
      const known = storeError(error, this.#options.path);
      if (!isUnusable(known)) throw known;
      this.#drop();
      return undefined;
    }
  }

  /**
   * A change that is due: made at the end of this turn of the event loop, or before, or when the lock is free. Where it can't be
   * written nobody is held up: a full disk is the store's to tell.
   *
   * @param made called once it is, or cannot be
   */
  soon(make: Change['make'], made?: () => void): void {
    this.#due.push({ make, made });
    if (this.#making) return;
    this.#making = true;
    setImmediate(() => void this.#makeDue());
  }

  /** What is due by now is made, unless another process has the lock. */
  makeNow(): void {
    if (this.#due.length === 0) return;
    try {
      this.transactNow(() => {});
    } catch {
      // It stays due.
    }
  }

  /** Resolves when the file is open. */
  ready(): Promise<Database> {
    if (this.#db !== undefined) return Promise.resolve(this.#db);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Does `last`, whose transactions wait here for a lock, and leaves; nothing of it where the file was never opened. */
  close(last: () => void = () => {}): void {
    const db = this.#db;
    this.#closed = true;
    if (db === undefined) return;
    try {
      db.exec(`PRAGMA busy_timeout = ${LAST_WAIT_MS}`);
      last();
      db.exec('PRAGMA synchronous = FULL');
      this.#do(db, () => this.#leave(db));
    } catch {
      // Without a clean end the next start of the machine counts more as used than was.
    } finally {
      // A file that proved damaged has been closed.
      if (this.#db !== undefined) db.close();
      this.#db = undefined;
    }
  }

  async #transactLater<T>(work: (db: Database) => T): Promise<T> {
    for (let isFirst = true; ; isFirst = false) {
      const db = await this.ready();
      try {
        return await whenFree(() => this.#do(db, work), this.#wait);
      } catch (error) {
        if (!isFirst || !isUnusable(error)) throw error;
        if (this.#db === db) this.#drop();
      }
    }
  }

  async #makeDue(): Promise<void> {
    while (this.#due.length > 0) {
      try {
        await this.transact(() => {});
      } catch {
        for (const { made } of this.#due.splice(0)) made?.();
      }
    }
    this.#making = false;
  }

  #do<T>(db: Database, work: (db: Database) => T): T {
    const due = this.#due.splice(0);
    try {
      const result = inTransaction(db, () => {
        for (const { make } of due) make(db);
        return work(db);
      });
      for (const { made } of due) made?.();
      return result;
    } catch (error) {
      this.#due.unshift(...due);
      throw error;
    }
  }

  #drop(): void {
    this.#isDamaged = true;
    this.#db?.close();
    this.#db = undefined;
  }

  async #open(): Promise<Database> {
    const { path, clock } = this.#options;
    if (this.#closed)
      throw new CallsheetError('STORE_FAILED', `The database ${path} is closed.`, { details: { path } });
    const inode = inodeOf(path);
    try {
      // Another process may have put a new file in the place of the damaged one.
      if (!this.#isDamaged || inode !== this.#inode) return await this.#openFile(path);
    } catch (error) {
      if (isPassing(error)) throw error;
    }
    try {
      if (inodeOf(path) === inode) putAside(path);
      return await this.#openFile(path, clock.now());
    } catch (error) {
      if (isPassing(error)) throw error;
      return this.#openFile(IN_MEMORY, clock.now());
    }
  }

  async #openFile(path: string, lostAt?: number): Promise<Database> {
    const db = await whenFree(() => new Database(path), this.#wait);
    try {
      // On its own and retried: turning a new file to WAL needs the lock for a moment.
      await whenFree(() => db.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL'), this.#wait);
      // The end of the last clean state is on disk before anything is granted that may be lost.
      db.exec('PRAGMA synchronous = FULL');
      this.#lostAt = await whenFree(() => inTransaction(db, () => this.#enter(db, lostAt)), this.#wait);
      db.exec('PRAGMA synchronous = OFF');
    } catch (error) {
      db.close();
      throw error;
    }
    this.#isDamaged = false;
    this.#inode = inodeOf(path);
    this.#db = db;
    return db;
  }

  #enter(db: Database, lostAt: number | undefined): number | undefined {
    const { path, session, clock, boot = thisBoot(clock.now()) } = this.#options;
    db.exec(TABLES);
    for (const [table, name, type] of LATER_COLUMNS)
      if (!hasColumn(db, table, name)) db.exec(`ALTER TABLE ${table} ADD COLUMN ${name} ${type}`);
    for (const [table, name] of FORMER_COLUMNS)
      if (hasColumn(db, table, name)) db.exec(`ALTER TABLE ${table} DROP COLUMN ${name}`);
    const meta = new Map(db.all<MetaRow>('SELECT name, value FROM meta').map((row) => [row.name, row.value]));
    if ((meta.get('format') ?? FORMAT) !== FORMAT) throw corrupt(path, `it is of format ${meta.get('format')}`);
    const isOtherBoot = meta.has('boot') && meta.get('boot') !== boot.id;
    for (const { name } of db.all<{ name: string }>('SELECT name FROM sessions'))
      if (isOtherBoot || this.isGone(name)) {
        leaveTriesOf(db, name);
        forgetSession(db, name);
        noteGone(db, name, clock.now());
      }
    forgetGonePlaces(db, clock.now());
    if (isOtherBoot) db.run('DELETE FROM reservations WHERE session <> ?', LEFT);
    if (isOtherBoot) db.run('DELETE FROM places');
    db.run('DELETE FROM gates WHERE until <= ?', clock.now());
    db.run('DELETE FROM askers WHERE no NOT IN (SELECT asker_no FROM shares)');
    const atBoot = isOtherBoot && meta.get('clean') !== 1 ? boot.at : 0;
    const lost = Math.max(lostAt ?? 0, Number(meta.get('lostAt') ?? 0), atBoot);
    const now = { format: FORMAT, boot: boot.id, clean: 0, lostAt: lost };
    for (const [name, value] of Object.entries(now)) db.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', name, value);
    db.run('INSERT OR IGNORE INTO sessions VALUES (?)', session);
    return lost > 0 ? lost : undefined;
  }

  #leave(db: Database): void {
    leaveTriesOf(db, this.session);
    db.run('DELETE FROM reservations WHERE session = ?', this.session);
    forgetSession(db, this.session);
    forgetPlaces(db, this.session);
    for (const { name } of db.all<{ name: string }>('SELECT name FROM sessions'))
      if (this.isGone(name)) {
        forgetSession(db, name);
        noteGone(db, name, this.clock.now());
      }
    if (db.get('SELECT 1 FROM sessions') === undefined) db.run("UPDATE meta SET value = 1 WHERE name = 'clean'");
  }
}

function hasColumn(db: Database, table: string, name: string): boolean {
  return db.get('SELECT 1 FROM pragma_table_info(?) WHERE name = ?', table, name) !== undefined;
}

/** A session that has ended waits for nothing. What it held of a ledger is that one's to give up. */
function forgetSession(db: Database, session: string): void {
  db.run('DELETE FROM sessions WHERE name = ?', session);
  db.run('UPDATE shares SET unserved_at = NULL WHERE asker_no = (SELECT no FROM askers WHERE name = ?)', session);
  db.run('DELETE FROM shares WHERE held = 0 AND unserved_at IS NULL');
}

function inTransaction<T>(db: Database, work: (db: Database) => T): T {
  db.begin();
  try {
    const result = work(db);
    db.commit();
    return result;
  } catch (error) {
    db.rollback();
    throw error;
  }
}

/** A full disk or a lock that is held is no reason to remake the file. */
function isPassing(error: unknown): boolean {
  return error instanceof CallsheetError && (error.code === 'STORE_FULL' || error.code === 'STORE_HELD');
}

/** What a statement of ours meets only in a file that is damaged, or is none of ours. */
function isUnusable(error: unknown): boolean {
  return (
    error instanceof CallsheetError &&
    (error.code === 'STORE_CORRUPT' || error.code === 'STORE_READ_ONLY' || error.code === 'STORE_FAILED')
  );
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function putAside(path: string): void {
  rmSync(`${path}.damaged`, { recursive: true, force: true });
  renameSync(path, `${path}.damaged`);
  for (const part of ['-wal', '-shm']) rmSync(path + part, { recursive: true, force: true });
}

/** Linux names each start of the machine (random(4)); elsewhere it is the minute that the uptime counts from. */
function thisBoot(now: number): { readonly id: string; readonly at: number } {
  const at = Math.round(now - uptime() * 1000);
  try {
    return { id: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), at };
  } catch {
    return { id: String(Math.round(at / 60_000)), at };
  }
}
