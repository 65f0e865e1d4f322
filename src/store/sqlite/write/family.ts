import type { Digest, Place } from '../../../scope/index.ts';
import type { Database } from '../driver.ts';
import type { Reader } from '../reader.ts';

const OTHERS = `WITH RECURSIVE family (id) AS (
    VALUES (?)
    UNION SELECT runs.id FROM runs JOIN family ON runs.replayed_from = family.id
  )
  SELECT no FROM runs WHERE id IN (SELECT id FROM family) AND no <> ? ORDER BY no`;

const KEY = 'SELECT operation_key AS key FROM operations WHERE place = ? AND call_id = ?';
const PAID = `SELECT 1 FROM operations JOIN calls USING (place, call_id) WHERE place = ? AND call_id = ? AND operation_key = ?
  AND credits > 0`;

/** The other runs of the family of this root. */
export function othersInFamily(db: Database, root: string, runNo: number): readonly number[] {
  return db.all<{ no: number }>(OTHERS, root, runNo).map(({ no }) => no);
}

/** True where another run of the family has paid for a call under the operation key that this run is on record with. */
export function isPaidInFamily(
  { db, spaces }: Pick<Reader, 'db' | 'spaces'>,
  { family, runNo, place, callId }: { family: string; runNo: number; place: Place; callId: Digest },
): boolean {
  const rowOf = (no: number): number | undefined => {
    const start = spaces.start(no, place.datasetNo);
    return start === undefined ? undefined : start + place.ordinal;
  };
  const key = db.get<{ key: string }>(KEY, rowOf(runNo) ?? -1, callId)?.key;
  if (key === undefined) return false;
  return othersInFamily(db, family, runNo).some((no) => db.get(PAID, rowOf(no) ?? -1, callId, key) !== undefined);
}
