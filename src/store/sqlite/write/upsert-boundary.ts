import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';
import type { Spaces } from '../spaces.ts';

const UPSERT = `INSERT OR REPLACE INTO boundaries (place, key, kind, label, path, input_digest, state, value, at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Keeps what a boundary returned. The same key at the same place again replaces it. */
export function upsertBoundary(db: Database, spaces: Spaces, write: WriteOf<'boundary'>): void {
  const { entry, place } = write;
  db.run(
    UPSERT,
    spaces.place(write.fence.runNo, place.datasetNo, place.ordinal),
    entry.key,
    entry.kind,
    entry.label,
    entry.path,
    entry.inputDigest,
    entry.state,
    entry.value,
    entry.at,
  );
}
