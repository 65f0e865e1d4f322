import type { Database } from './driver.ts';
import type { RatesFile } from './rates-file.ts';

const CLOSE = `INSERT INTO gates VALUES (?, ?)
  ON CONFLICT (account) DO UPDATE SET until = excluded.until WHERE excluded.until > until`;

/**
 * Until when providers have said that they take no call, in `rates.db`.
 *
 * Invariant: of an account only the latest instant is there. One that is past does no harm, and is gone once the file is opened
 * the next time.
 */
export class ClosedGates {
  readonly #file: RatesFile;

  constructor(file: RatesFile) {
    this.#file = file;
  }

  /** See the governor's GateState. */
  closed(account: string, until: number): void {
    this.#file.soon((db) => db.run(CLOSE, account, until));
  }

  /** See the governor's GateState. A read, which no writer's lock holds up. */
  closedUntil(account: string): number | undefined | Promise<number | undefined> {
    const { connection } = this.#file;
    return connection === undefined
      ? this.#file.ready().then((db) => untilOf(db, account))
      : untilOf(connection, account);
  }
}

function untilOf(db: Database, account: string): number | undefined {
  return db.get<{ until: number }>('SELECT until FROM gates WHERE account = ?', account)?.until;
}
