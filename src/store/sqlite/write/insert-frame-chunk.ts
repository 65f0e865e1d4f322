import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';
import type { Spaces } from '../spaces.ts';

const UPSERT = 'INSERT OR REPLACE INTO frame_chunks (place, row_count, keys, repeats) VALUES (?, ?, ?, ?)';

/** Keeps the keys of a chunk of rows. A chunk from the same first row again replaces it. */
export function insertFrameChunk(db: Database, spaces: Spaces, write: WriteOf<'frameChunk'>): void {
  const { repeats } = write;
  const blob = repeats.some((ordinal) => ordinal >= 0)
    ? new Uint8Array(repeats.buffer, repeats.byteOffset, repeats.byteLength)
    : null;
  db.run(UPSERT, spaces.place(write.fence.runNo, write.datasetNo, write.first), repeats.length, write.keys, blob);
}
