import { hexDigest } from '../../scope/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import type { Database } from './driver.ts';
import { corrupt } from './errors.ts';
import type { Migration } from './migrations/index.ts';

/** 'CSHT': tells our files from other SQLite databases (https://www.sqlite.org/pragma.html#pragma_application_id). */
const APPLICATION_ID = 0x43534854;

interface Applied {
  readonly no: number;
  readonly name: string;
  readonly checksum: string;
  readonly release: string;
}

export interface MigrateOptions {
  readonly migrations: readonly Migration[];
  /** Version of this release, kept with each migration that it applies. */
  readonly release: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Brings the database to this release, in one transaction. Throws WORKSPACE_TOO_NEW for one that a newer release wrote,
 * STORE_CORRUPT for a foreign database or a migration whose text is not the one that was applied.
 */
export function migrate(db: Database, options: MigrateOptions): void {
  if (pending(db, options).length === 0) return;
  db.begin();
  try {
    // Looked at again under the lock: another process may have opened the same new workspace.
    for (const migration of pending(db, options)) {
      if (migration.no === 1) {
        db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
        db.exec(
          'CREATE TABLE migrations (no INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, release TEXT NOT NULL, applied_at INTEGER NOT NULL)',
        );
      }
      db.exec(migration.sql);
      db.run(
        'INSERT INTO migrations VALUES (?, ?, ?, ?, ?)',
        migration.no,
        migration.name,
        hexDigest(migration.sql),
        options.release,
        options.now,
      );
    }
    db.commit();
  } catch (error) {
    db.rollback();
    throw error;
  }
}

/** The migrations that are still to be applied, after all checks. */
function pending(db: Database, options: MigrateOptions): readonly Migration[] {
  const applied = appliedTo(db);
  const newest = options.migrations.at(-1)?.no ?? 0;
  const tooNew = applied.findLast((migration) => migration.no > newest);
  if (tooNew !== undefined) throw tooNewError(db.path, tooNew.release, options.release);
  for (const [index, was] of applied.entries()) {
    const is = options.migrations[index];
    if (is === undefined || is.no !== was.no || hexDigest(is.sql) !== was.checksum)
      throw corrupt(
        db.path,
        `migration ${was.name}, applied by release ${was.release}, is not the one that release ${options.release} knows under that number`,
      );
  }
  return options.migrations.slice(applied.length);
}

function appliedTo(db: Database): readonly Applied[] {
  const id = db.get<{ application_id: number }>('PRAGMA application_id')?.application_id ?? 0;
  if (id === APPLICATION_ID) return db.all<Applied>('SELECT no, name, checksum, release FROM migrations ORDER BY no');
  const tables = db.get<{ count: number }>('SELECT count(*) AS count FROM sqlite_schema')?.count ?? 0;
  if (id !== 0 || tables > 0) throw corrupt(db.path, 'it is a database of another program');
  return [];
}

function tooNewError(path: string, theirs: string, ours: string): CallsheetError {
  return new CallsheetError(
    'WORKSPACE_TOO_NEW',
    `The database ${path} was written by Callsheet ${theirs}; this is ${ours}, which is older and would not understand it.`,
    {
      details: { path, writtenBy: theirs, thisRelease: ours },
      next: [`install Callsheet ${theirs} or newer`, 'or use another workspace folder'],
    },
  );
}
