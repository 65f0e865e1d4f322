import type { Database } from './driver.ts';
import type { RatesFile } from './rates-file.ts';

// What was said at an instant to come, by a clock that was set back since, gives way.
const CLOSE = `INSERT INTO gates VALUES (?, ?, ?)
  ON CONFLICT (account) DO UPDATE SET at = excluded.at, until = excluded.until
  WHERE excluded.until > until OR at > excluded.at`;

interface Closing {
  readonly at: number;
  readonly until: number;
}

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
  closed(account: string, { at, until }: Closing): void {
    this.#file.soon((db) => db.run(CLOSE, account, at, until));
  }

  /** See the governor's GateState. A read, which no writer's lock holds up. */
  closing(account: string): Closing | undefined | Promise<Closing | undefined> {
    const { connection } = this.#file;
    return connection === undefined
      ? this.#file.ready().then((db) => closingOf(db, account))
      : closingOf(connection, account);
  }
}

function closingOf(db: Database, account: string): Closing | undefined {
  return db.get<Closing>('SELECT at, until FROM gates WHERE account = ?', account);
}
