import type { Clock } from '../../scope/index.ts';
import type { Store } from '../port.ts';
import { Database } from './driver.ts';
import { storeError } from './errors.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS, type Migration } from './migrations/index.ts';
import { SqliteStore } from './store.ts';
import { whenFree } from './waiting.ts';

const HELD_AFTER_MS = 10_000;
const CACHE_KIB = 16_384;
/**
 * 4 MB. With receipts appended and their keys merged in slices, a checkpoint writes few pages that it does not have to,
 * so small ones cost no throughput; at 20,000 pages the loop stalls for 200 ms at a time.
 */
const CHECKPOINT_PAGES = 1_000;
const JOURNAL_BYTES = 64 * 1024 * 1024;

const SETTINGS = `
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
  PRAGMA journal_size_limit = ${JOURNAL_BYTES};
  PRAGMA cache_size = -${CACHE_KIB};
  PRAGMA temp_store = MEMORY;
`;

export interface SqliteStoreOptions {
  /** The database file; made, with its folder, where it is missing. */
  readonly path: string;
  readonly clock: Clock;
  /** Version of this release: kept with the migrations it applies, named when a newer one refuses. */
  readonly release: string;
  /** How long another process may hold the lock before a write says STORE_HELD; 10 s if not given. */
  readonly heldAfterMs?: number;
  /** For tests: other migrations than this release's, and merging without thousands of receipts. */
  readonly migrations?: readonly Migration[];
  readonly largestLot?: number;
}

/**
 * Opens a store in a SQLite file and brings it to this release. Throws WORKSPACE_TOO_NEW, STORE_CORRUPT,
 * STORE_READ_ONLY, STORE_FULL or STORE_HELD.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, clock } = options;
  const wait = { clock, path, heldAfterMs: options.heldAfterMs ?? HELD_AFTER_MS };
  const db = await whenFree(() => new Database(path), wait);
  try {
    // On its own and retried: turning a new file to WAL needs the lock for a moment.
    await whenFree(() => db.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL'), wait);
    db.exec(SETTINGS);
    await whenFree(
      () =>
        migrate(db, {
          migrations: options.migrations ?? MIGRATIONS,
          release: options.release,
          now: clock.now(),
        }),
      wait,
    );
    return new SqliteStore(db, { ...wait, largestLot: options.largestLot });
  } catch (error) {
    db.close();
    throw storeError(error, path);
  }
}
