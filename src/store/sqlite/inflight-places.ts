import type { Database } from './driver.ts';
import { isCounted, noteGone } from './gone-places.ts';
import type { RatesFile } from './rates-file.ts';

/** What a session holds of an account's concurrency; the governor's PlaceClaim. */
export interface InflightClaim {
  readonly held: number;
  readonly wanted: number;
  readonly askedAt: number;
  readonly turn: number;
  readonly seenAt: number;
  readonly keepMs: number;
}

export interface InflightView {
  readonly session: string;
  readonly own: InflightClaim | undefined;
  readonly others: readonly (InflightClaim & { readonly session: string })[];
  readonly heldByGone: number;
  readonly lostAt: number | undefined;
}

export interface InflightChange<T> {
  readonly claim: InflightClaim | undefined;
  readonly result: T;
}

interface ClaimRow extends InflightClaim {
  readonly session: string;
  readonly goneAt: number | null;
}

const CLAIMS = `SELECT session, held, wanted, asked_at AS askedAt, turn, seen_at AS seenAt, keep_ms AS keepMs, gone_at AS goneAt
  FROM places WHERE account = ?`;
const ENTER = `INSERT OR REPLACE INTO places (account, session, held, wanted, asked_at, turn, seen_at, keep_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const FORGET = 'DELETE FROM places WHERE account = ? AND session = ?';

/**
 * How many calls each session may have in flight of each account, in `rates.db`.
 *
 * Invariants
 *  1. A session writes its own claim only, whole: in a file that was remade it is entered again with the next change.
 *  2. The claim of a session that is gone wants nothing; what it held counts as long as gone-places says.
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
        const { held, wanted, askedAt, turn, seenAt, keepMs } = claim;
        db.run(ENTER, account, this.#file.session, held, wanted, askedAt, turn, seenAt, keepMs);
      }
      if (claim === undefined && view.own !== undefined) db.run(FORGET, account, this.#file.session);
      return result;
    });
  }

  #view(db: Database, account: string): InflightView {
    const { session, isGone, clock } = this.#file;
    const now = clock.now();
    const claims = db.all<ClaimRow>(CLAIMS, account);
    const others = claims.filter((claim) => claim.session !== session);
    const gone = others.filter((claim) => isGone(claim.session));
    for (const claim of gone) {
      if (claim.goneAt === null) noteGone(db, claim.session, now);
      if (!isCounted(claim, now)) db.run(FORGET, account, claim.session);
    }
    return {
      session,
      own: claims.find((claim) => claim.session === session),
      others: gone.length === 0 ? others : others.filter((claim) => !gone.includes(claim)),
      heldByGone: gone.reduce((sum, claim) => sum + (isCounted(claim, now) ? claim.held : 0), 0),
      lostAt: this.#file.lostAt,
    };
  }
}

const PARTS = ['held', 'wanted', 'askedAt', 'turn', 'seenAt', 'keepMs'] as const;

function isSame(a: InflightClaim, b: InflightClaim | undefined): boolean {
  return b !== undefined && PARTS.every((part) => a[part] === b[part]);
}
