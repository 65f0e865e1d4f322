import type { Database } from './driver.ts';
import type { RatesFile } from './rates-file.ts';

/** What a session holds of an account's concurrency; the governor's PlaceClaim. */
export interface InflightClaim {
  readonly held: number;
  readonly wanted: number;
  readonly askedAt: number;
  readonly turn: number;
}

export interface InflightView {
  readonly session: string;
  readonly own: InflightClaim | undefined;
  readonly others: readonly (InflightClaim & { readonly session: string })[];
  readonly lostAt: number | undefined;
}

export interface InflightChange<T> {
  readonly claim: InflightClaim | undefined;
  readonly result: T;
}

const CLAIMS = 'SELECT session, held, wanted, asked_at AS askedAt, turn FROM places WHERE account = ?';
const FORGET = 'DELETE FROM places WHERE account = ? AND session = ?';

/**
 * How many calls each session may have in flight of each account, in `rates.db`.
 *
 * Invariants
 *  1. A session writes its own claim only, whole: in a file that was remade it is entered again with the next change.
 *  2. The claim of a session that is gone counts no more.
 */
export class InflightPlaces {
  readonly #file: RatesFile;

  constructor(file: RatesFile) {
    this.#file = file;
  }

  /** See the governor's PlaceState. Throws, or rejects with, STORE_FULL or STORE_HELD. */
  change<T>(account: string, decide: (view: InflightView) => InflightChange<T>): T | Promise<T> {
    return this.#file.transact((db) => {
      const view = this.#view(db, account);
      const { claim, result } = decide(view);
      if (claim !== undefined && !isSame(claim, view.own)) {
        const { held, wanted, askedAt, turn } = claim;
        const values = [account, this.#file.session, held, wanted, askedAt, turn];
        db.run('INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?)', ...values);
      }
      if (claim === undefined && view.own !== undefined) db.run(FORGET, account, this.#file.session);
      return result;
    });
  }

  #view(db: Database, account: string): InflightView {
    const { session, isGone } = this.#file;
    const claims = db.all<InflightClaim & { readonly session: string }>(CLAIMS, account);
    const others = claims.filter((claim) => claim.session !== session);
    const gone = others.filter((claim) => isGone(claim.session));
    for (const claim of gone) db.run(FORGET, account, claim.session);
    return {
      session,
      own: claims.find((claim) => claim.session === session),
      others: gone.length === 0 ? others : others.filter((claim) => !gone.includes(claim)),
      lostAt: this.#file.lostAt,
    };
  }
}

function isSame(a: InflightClaim, b: InflightClaim | undefined): boolean {
  return b !== undefined && a.held === b.held && a.wanted === b.wanted && a.askedAt === b.askedAt && a.turn === b.turn;
}
