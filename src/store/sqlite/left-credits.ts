import type { Database } from './driver.ts';

/** Whose the reservations of a ledger are that dead sessions have left: nobody's. */
export const LEFT = 'left';

export const DAY_LEDGER = 'day';

/** The period that the day's ledger is in; null where there is none. */
export const DAY = `(SELECT period FROM ledgers WHERE name = '${DAY_LEDGER}')`;

export function treeLedger(rootId: string): string {
  return `tree ${rootId}`;
}

/** A row of `open_tries`, in millionths. */
export interface Counted {
  readonly root: string;
  readonly out: number;
  readonly lost: number;
  /** 1 where the day's ledger is still in the period in which it has counted it. */
  readonly ofDay: number;
}

export const COUNTED = `SELECT root, out, lost, day IS ${DAY} AS ofDay FROM open_tries WHERE run = ? AND call = ?`;

/** What a session had out is nobody's now, and the ledgers that it drew on go on holding it. */
export function leaveTriesOf(db: Database, session: string): void {
  leaveTries(db, 'session = ?', [session]);
}

/** What these rows of `open_tries` have out is nobody's now, and the ledgers that it was drawn on go on holding it. */
export function leaveTries(db: Database, where: string, values: readonly string[]): void {
  const sums = `SELECT root, sum(out) AS out FROM open_tries WHERE ${where} GROUP BY root`;
  for (const { root, out } of db.all<{ root: string; out: number }>(sums, ...values))
    for (const ledger of ledgersOf(db, root)) holdLeft(db, ledger, out);
  db.run(`UPDATE open_tries SET session = NULL, day = iif(out > 0, ${DAY}, day) WHERE ${where}`, ...values);
}

/** What this row has out, and nobody's was, is somebody's now. */
export function takeLeft(db: Database, { root, out, ofDay }: Counted): void {
  for (const ledger of ledgersOf(db, root, ofDay === 1)) holdLeft(db, ledger, -out);
}

/** What this row has lost was not charged after all. */
export function giveBackLost(db: Database, { root, lost, ofDay }: Counted): void {
  for (const ledger of ledgersOf(db, root, ofDay === 1))
    db.run('UPDATE ledgers SET settled = max(0, settled - ?) WHERE name = ?', lost, ledger);
}

/** What this ledger counts as settled that nobody can tell of, by these rows. */
export function lostIn(db: Database, ledger: string): number {
  const sum = `SELECT total(lost) AS lost FROM open_tries WHERE iif(? = '${DAY_LEDGER}', day IS ${DAY}, 'tree ' || root = ?)`;
  return db.get<{ lost: number }>(sum, ledger, ledger)?.lost ?? 0;
}

/** Those of its ledgers that there are: that of its tree, and that of the day. */
function ledgersOf(db: Database, root: string, ofDay = true): readonly string[] {
  return [treeLedger(root), ...(ofDay ? [DAY_LEDGER] : [])].filter(
    (ledger) => db.get('SELECT 1 FROM ledgers WHERE name = ?', ledger) !== undefined,
  );
}

function holdLeft(db: Database, ledger: string, credits: number): void {
  const add = `INSERT INTO reservations VALUES (?, ?, max(0, ?))
    ON CONFLICT (ledger, session) DO UPDATE SET credits = max(0, credits + ?)`;
  db.run(add, ledger, LEFT, credits, credits);
}
