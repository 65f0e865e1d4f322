import type { Database } from './driver.ts';
import { LEFT, leaveTriesOf, lostIn } from './left-credits.ts';
import type { RatesFile } from './rates-file.ts';

export interface LedgerOptions {
  /** Whole millionths of a credit, as all amounts here. */
  readonly limit: number;
  /** Now's period, such as a day: what is settled starts at nothing in a later one (by the order of texts). */
  readonly period: () => string;
  /** What is known from elsewhere to be settled in this period; lost tries, of which the file itself tells, come on top. */
  readonly settled: () => Promise<number>;
  /** True where that is all there is while no session has the ledger open: then it also counts where it is less. */
  readonly isWhole?: boolean;
}

interface Sums {
  readonly settled: number;
  readonly reserved: number;
  /** What sessions that are gone had out. */
  readonly left: number;
}

/**
 * What processes on one workspace may spend together in a period, in `rates.db`.
 *
 * Owns: what this session holds and what it could not write yet. Does not own: who waits (the governor's budget).
 *
 * Invariants
 *  1. settled + all reservations, those that are left included, never exceeds the limit as long as nobody settles more than it had reserved.
 *  2. What is settled, or was lost, is at least what was known of it from elsewhere when this session began with the file, or
 *     took back the reservations of a session that is gone.
 *  3. Whatever is reserved when a period ends is reserved in the next: each credit counts once, when it is settled.
 *  4. A session has a row of reservations for as long as it has the ledger open, if only of 0.
 *  5. What a session that is gone had out at providers is left: it counts as spent until its run takes it up, or the period
 *     ends (try-log).
 *  6. In a file that was remade this session's reservations and what it knew to be settled are entered again.
 */
export class CreditLedger {
  readonly #file: RatesFile;
  readonly #name: string;
  readonly #options: LedgerOptions;
  /** The connection that this ledger is entered in. */
  #enteredIn: Database | undefined;
  #entering: Promise<void> | undefined;
  #held = 0;
  #owed = { reserved: 0, spent: 0 };
  #seen: Sums & { readonly period: string } = { period: '', settled: 0, reserved: 0, left: 0 };
  #isDue = false;
  #closed = false;

  constructor(file: RatesFile, name: string, options: LedgerOptions) {
    this.#file = file;
    this.#name = name;
    this.#options = options;
  }

  /** Reads what is settled elsewhere and enters it. Rejects with STORE_FULL or STORE_HELD, or as `settled` does. */
  ready(): Promise<void> {
    this.#entering ??= this.#enter().finally(() => {
      this.#entering = undefined;
    });
    return this.#entering;
  }

  reserve(credits: number): 'reserved' | 'full' | 'never' | 'busy' {
    const { limit } = this.#options;
    const said = this.#transact((db, sums) => {
      const { settled, left, reserved } = sums;
      // For what dead runs have left nobody waits: they may never go on.
      if (settled + left + credits > limit) return this.#goneHolders(db).length > 0 ? 'gone' : 'never';
      if (settled + left + reserved + credits > limit) return this.#goneHolders(db).length > 0 ? 'gone' : 'full';
      this.#hold(db, credits);
      return 'reserved';
    });
    if (said === 'reserved') this.#held += credits;
    if (said === 'gone') this.#enterSoon();
    return said === undefined || said === 'gone' ? 'busy' : said;
  }

  settle(reserved: number, spent: number): void {
    this.#held -= reserved;
    this.#owed = { reserved: this.#owed.reserved + reserved, spent: this.#owed.spent + spent };
    if (this.#isDue) return;
    this.#isDue = true;
    this.#file.soon(
      (db) => this.#pay(db),
      () => {
        this.#isDue = false;
        this.#owed = { reserved: 0, spent: 0 };
      },
    );
  }

  /** This session takes no more of it. What is settled later still counts. */
  close(): void {
    if (this.#closed) return;
    this.#transact((db) => {
      db.run('DELETE FROM reservations WHERE ledger = ? AND session = ?', this.#name, this.#file.session);
      if (!this.#isOpen(db) && this.#options.isWhole === true) db.run('DELETE FROM ledgers WHERE name = ?', this.#name);
    });
    this.#closed = true;
  }

  /** As last seen, of all sessions, with what is due. */
  state(): Sums {
    const { settled, reserved, left, period } = this.#seen;
    const { reserved: givenBack, spent } = this.#owed;
    const isOver = period < this.#options.period();
    return { settled: (isOver ? 0 : settled) + spent, reserved: reserved - givenBack, left: isOver ? 0 : left };
  }

  #enterSoon(): void {
    // Where it can't be now, whoever asks next tries again.
    void this.ready().catch(() => {});
  }

  #pay(db: Database): void {
    const { reserved, spent } = this.#owed;
    this.#turn(db);
    if (reserved !== 0 && !this.#closed) this.#hold(db, -reserved);
    if (spent !== 0) db.run('UPDATE ledgers SET settled = max(0, settled + ?) WHERE name = ?', spent, this.#name);
    this.#see(this.#sums(db));
  }

  /** Undefined where nothing could be done now. */
  #transact<T>(work: (db: Database, sums: Sums) => T): T | undefined {
    if (this.#enteredIn === undefined || this.#file.connection !== this.#enteredIn) {
      this.#enterSoon();
      return undefined;
    }
    try {
      const done = this.#file.transactNow((db) => {
        this.#turn(db);
        const result = work(db, this.#sums(db));
        return { result, sums: this.#sums(db) };
      });
      if (done === undefined) return undefined;
      this.#see(done.result.sums);
      return done.result.result;
    } catch {
      // A full disk: the store says so, and stops all calls.
      return undefined;
    }
  }

  async #enter(): Promise<void> {
    const elsewhere = await this.#options.settled();
    const seen = { ...this.state(), period: this.#seen.period };
    await this.#file.transact((db) => {
      const isNew = db !== this.#enteredIn;
      // Not before what they may have spent has been looked up.
      for (const session of this.#goneHolders(db)) this.#giveUp(db, session);
      const isAlone = !this.#isOpen(db);
      if (isNew && isAlone && this.#options.isWhole === true) db.run('DELETE FROM ledgers WHERE name = ?', this.#name);
      const period = this.#turn(db);
      const known = isNew && seen.period === period ? seen.settled : 0;
      const settled = Math.max(elsewhere + lostIn(db, this.#name), known);
      db.run('UPDATE ledgers SET settled = max(settled, ?) WHERE name = ?', settled, this.#name);
      const entry = [this.#name, this.#file.session, this.#held];
      if (isNew) db.run('INSERT OR REPLACE INTO reservations VALUES (?, ?, ?)', ...entry);
      this.#enteredIn = db;
      this.#see(this.#sums(db));
    });
  }

  /** What it had out may have been spent, and its run may ask for it again: that much goes on being held. */
  #giveUp(db: Database, session: string): void {
    leaveTriesOf(db, session);
    db.run('DELETE FROM reservations WHERE ledger = ? AND session = ?', this.#name, session);
  }

  #isOpen(db: Database): boolean {
    const held = 'SELECT 1 FROM reservations WHERE ledger = ? AND session <> ?';
    return db.get(held, this.#name, LEFT) !== undefined;
  }

  /** Begins the next period where it has come; the period that is. */
  #turn(db: Database): string {
    const now = this.#options.period();
    const period = db.get<{ period: string }>('SELECT period FROM ledgers WHERE name = ?', this.#name)?.period;
    if (period !== undefined && period >= now) return period;
    db.run('INSERT OR REPLACE INTO ledgers VALUES (?, ?, 0)', this.#name, now);
    // Whatever became of it, it was in a period that is over.
    if (period !== undefined) db.run('DELETE FROM reservations WHERE ledger = ? AND session = ?', this.#name, LEFT);
    return now;
  }

  #sums(db: Database): Sums {
    const settled = db.get<{ settled: number }>('SELECT settled FROM ledgers WHERE name = ?', this.#name)?.settled ?? 0;
    const sum = `SELECT total(credits) AS held, total(credits) FILTER (WHERE session = ?) AS 'left'
      FROM reservations WHERE ledger = ?`;
    const { held = 0, left = 0 } = db.get<{ held: number; left: number }>(sum, LEFT, this.#name) ?? {};
    return { settled, reserved: held - left, left };
  }

  #see(sums: Sums): void {
    this.#seen = { ...sums, period: this.#options.period() };
  }

  #hold(db: Database, credits: number): void {
    const add = `INSERT INTO reservations VALUES (?, ?, ?)
      ON CONFLICT (ledger, session) DO UPDATE SET credits = credits + excluded.credits`;
    db.run(add, this.#name, this.#file.session, credits);
  }

  #goneHolders(db: Database): readonly string[] {
    const others = 'SELECT session FROM reservations WHERE ledger = ? AND session NOT IN (?, ?)';
    return db
      .all<{ session: string }>(others, this.#name, this.#file.session, LEFT)
      .flatMap(({ session }) => (this.#file.isGone(session) ? [session] : []));
  }
}
