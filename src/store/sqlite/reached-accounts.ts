import type { Database } from './driver.ts';
import type { RatesFile } from './rates-file.ts';

/** Accounts that have answered somebody on this workspace, in `rates.db`. */
export class ReachedAccounts {
  readonly #file: RatesFile;

  constructor(file: RatesFile) {
    this.#file = file;
  }

  /** See the governor's ReachState. */
  reached(account: string): void {
    this.#file.soon((db) => db.run('INSERT OR IGNORE INTO reached VALUES (?)', account));
  }

  /** See the governor's ReachState. A read, which no writer's lock holds up. */
  wasReached(account: string): boolean | Promise<boolean> {
    const { connection } = this.#file;
    return connection === undefined
      ? this.#file.ready().then((db) => isThere(db, account))
      : isThere(connection, account);
  }
}

function isThere(db: Database, account: string): boolean {
  return db.get('SELECT 1 FROM reached WHERE account = ?', account) !== undefined;
}
