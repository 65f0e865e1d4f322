import type { Database } from './driver.ts';
import type { RatesFile } from './rates-file.ts';

/** Which slots of a limit are asked about; the governor's RateQuery. */
export interface SlotQuery {
  readonly name: string;
  readonly asker: string;
  readonly since: number;
  readonly calls: number;
  readonly leaving: number;
  readonly now: number;
  readonly leavesBy: number;
  readonly latest: number;
}

export interface SlotView {
  readonly held: number;
  readonly stays: number;
  readonly leaving: readonly number[];
  readonly newest: number | undefined;
  readonly unserved: readonly {
    readonly asker: string;
    readonly at: number;
    readonly unmet: number;
    readonly stays: number;
  }[];
  readonly lostAt: number | undefined;
}

export interface SlotChange<T> {
  readonly slots: readonly number[];
  readonly unserved: { readonly at: number; readonly unmet: number } | null;
  readonly result: T;
}

interface Move {
  readonly name: string;
  readonly asker: string;
  readonly from: number;
  readonly to: number | null;
}

interface Count {
  readonly asker_no: number;
  readonly count: number;
}

interface Slots {
  readonly at: number;
  readonly count: number;
}

interface Share {
  readonly asker_no: number;
  readonly name: string;
  readonly held: number;
  readonly unserved_at: number | null;
  readonly unmet: number;
}

const SHARES = `SELECT asker_no, name, held, unserved_at, unmet FROM shares JOIN askers ON askers.no = asker_no WHERE limit_no = ?`;
const OLDEST = 'SELECT at, count FROM slots WHERE limit_no = ? ORDER BY at LIMIT ?';
const OLD = 'SELECT asker_no, sum(count) AS count FROM slots WHERE limit_no = ? AND at <= ? GROUP BY asker_no';
const ADD_SLOTS = `INSERT INTO slots VALUES (?, ?, ?, ?)
  ON CONFLICT (limit_no, at, asker_no) DO UPDATE SET count = count + excluded.count`;
const GIVE_BACK = 'UPDATE shares SET held = held - 1 WHERE limit_no = ? AND asker_no = ?';
const SET_SHARE = `INSERT INTO shares (limit_no, asker_no, held, unserved_at, unmet) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (limit_no, asker_no) DO UPDATE SET held = held + excluded.held, unserved_at = excluded.unserved_at,
    unmet = excluded.unmet`;

/** Whoever got too little so long ago does not wait any more, by anyone's reckoning. */
const LONG_UNSERVED_MS = 600_000;

/**
 * The slots that were granted of each limit, in `rates.db`.
 *
 * Invariants
 *  1. `shares.held` is the sum of the slots of that limit and asker: a take reads and writes as many rows as it grants and
 *     forgets, never the whole window.
 *  2. Slots that count no more are gone after the next take.
 */
export class RateSlots {
  readonly #file: RatesFile;

  constructor(file: RatesFile) {
    this.#file = file;
  }

  /** See the governor's RateLogs. Throws, or rejects with, STORE_FULL or STORE_HELD. */
  change<T>(query: SlotQuery, decide: (view: SlotView) => SlotChange<T>): T | Promise<T> {
    return this.#file.transact((db) => {
      const [limit, asker] = [numberOf(db, 'limits', query.name), numberOf(db, 'askers', query.asker)];
      forgetOld(db, limit, query.since);
      const { slots, unserved, result } = decide(this.#view(db, limit, query));
      for (const [at, count] of counted(slots)) db.run(ADD_SLOTS, limit, at, asker, count);
      db.run(SET_SHARE, limit, asker, slots.length, unserved?.at ?? null, unserved?.unmet ?? 0);
      return result;
    });
  }

  /** See the governor's RateLogs. Throws, or rejects with, STORE_FULL or STORE_HELD. */
  move(moves: readonly Move[]): void | Promise<void> {
    return this.#file.transact((db) => {
      for (const { name, asker, from, to } of moves) {
        const key = [numberOf(db, 'limits', name), from, numberOf(db, 'askers', asker)] as const;
        if (db.run('UPDATE slots SET count = count - 1 WHERE limit_no = ? AND at = ? AND asker_no = ?', ...key) === 0)
          continue;
        db.run('DELETE FROM slots WHERE limit_no = ? AND at = ? AND asker_no = ? AND count = 0', ...key);
        if (to === null) db.run(GIVE_BACK, key[0], key[2]);
        else db.run(ADD_SLOTS, key[0], to, key[2], 1);
      }
    });
  }

  #view(db: Database, limit: number, { asker, calls, leaving, now, leavesBy, latest }: SlotQuery): SlotView {
    const shares = db.all<Share>(SHARES, limit);
    const held = shares.reduce((sum, share) => sum + share.held, 0);
    let newest = newestOf(db, limit);
    if (newest !== undefined && newest > latest) {
      pullBack(db, limit, { now, latest });
      newest = newestOf(db, limit);
    }
    const leaves = new Map(db.all<Count>(OLD, limit, leavesBy).map(({ asker_no, count }) => [asker_no, count]));
    const stays = (share: Share | undefined): number =>
      share === undefined ? 0 : share.held - (leaves.get(share.asker_no) ?? 0);
    return {
      held,
      stays: stays(shares.find(({ name }) => name === asker)),
      leaving: oldest(db, limit, { skip: Math.max(0, held - calls), count: leaving }),
      newest,
      unserved: shares.flatMap((share) => {
        const { name, unserved_at: at, unmet } = share;
        return name === asker || at === null ? [] : [{ asker: name, at, unmet, stays: stays(share) }];
      }),
      lostAt: this.#file.lostAt,
    };
  }
}

function numberOf(db: Database, table: 'limits' | 'askers', name: string): number {
  const find = `SELECT no FROM ${table} WHERE name = ?`;
  const known = db.get<{ no: number }>(find, name);
  if (known !== undefined) return known.no;
  db.run(`INSERT INTO ${table} (name) VALUES (?)`, name);
  return db.get<{ no: number }>(find, name)?.no ?? 0;
}

function forgetOld(db: Database, limit: number, since: number): void {
  const old = db.all<Count>(OLD, limit, since);
  if (old.length === 0) return;
  for (const { asker_no, count } of old)
    db.run('UPDATE shares SET held = held - ? WHERE limit_no = ? AND asker_no = ?', count, limit, asker_no);
  db.run('DELETE FROM slots WHERE limit_no = ? AND at <= ?', limit, since);
  const over = since - LONG_UNSERVED_MS;
  db.run('DELETE FROM shares WHERE limit_no = ? AND held = 0 AND coalesce(unserved_at, 0) <= ?', limit, over);
}

function newestOf(db: Database, limit: number): number | undefined {
  return db.get<{ at: number | null }>('SELECT max(at) AS at FROM slots WHERE limit_no = ?', limit)?.at ?? undefined;
}

function pullBack(
  db: Database,
  limit: number,
  { now, latest }: { readonly now: number; readonly latest: number },
): void {
  const ahead = db.all<Count>(
    'SELECT asker_no, sum(count) AS count FROM slots WHERE limit_no = ? AND at > ? GROUP BY asker_no',
    limit,
    latest,
  );
  db.run('DELETE FROM slots WHERE limit_no = ? AND at > ?', limit, latest);
  for (const { asker_no, count } of ahead) db.run(ADD_SLOTS, limit, now, asker_no, count);
}

function oldest(
  db: Database,
  limit: number,
  { skip, count }: { readonly skip: number; readonly count: number },
): readonly number[] {
  return inOrder(db.all<Slots>(OLDEST, limit, skip + count)).slice(skip, skip + count);
}

function inOrder(rows: readonly Slots[]): readonly number[] {
  return rows.flatMap(({ at, count }) => Array<number>(count).fill(at));
}

function counted(slots: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const at of slots) counts.set(at, (counts.get(at) ?? 0) + 1);
  return counts;
}
