import type { Database } from './driver.ts';

/** Whose the reservations of a ledger are that dead sessions have left: nobody's. */
export const LEFT = 'left';

export const DAY_LEDGER = 'day';

export function treeLedger(rootId: string): string {
  return `tree ${rootId}`;
}

/** What a session had out is nobody's now, and the ledgers that it drew on go on holding it. */
export function leaveTriesOf(db: Database, session: string): void {
  leaveTries(db, 'session = ?', [session]);
}

/** What these rows of `open_tries` have out is nobody's now, and the ledgers that it was drawn on go on holding it. */
export function leaveTries(db: Database, where: string, values: readonly string[]): void {
  const sums = `SELECT root, sum(out) AS out FROM open_tries WHERE ${where} GROUP BY root`;
  for (const { root, out } of db.all<{ root: string; out: number }>(sums, ...values)) holdLeft(db, root, out);
  db.run(`UPDATE open_tries SET session = NULL WHERE ${where}`, ...values);
}

/** In those of its ledgers that there are: that of its tree, and that of the day. */
export function holdLeft(db: Database, root: string, credits: number): void {
  for (const ledger of [treeLedger(root), DAY_LEDGER]) {
    if (db.get('SELECT 1 FROM ledgers WHERE name = ?', ledger) === undefined) continue;
    const add = `INSERT INTO reservations VALUES (?, ?, max(0, ?))
      ON CONFLICT (ledger, session) DO UPDATE SET credits = max(0, credits + ?)`;
    db.run(add, ledger, LEFT, credits, credits);
  }
}
