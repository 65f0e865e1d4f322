import { waitMissing } from '../../conflicts.ts';
import type { WriteOf } from '../../write-of.ts';
import { waitState } from '../codes.ts';
import type { Database } from '../driver.ts';
import { type WaitRow, waitRecord } from '../read/wait-row.ts';
import type { Spaces } from '../spaces.ts';
import { WAIT_OF_KEY } from './arm-wait.ts';

const OPEN = waitState.number('open');
const PARK = 'UPDATE waits SET deadline = NULL WHERE no = ?';
const SETTLE = `UPDATE waits SET state = ${waitState.number('timedOut')}, settled_at = ? WHERE no = ?`;

/** Ends an open wait, or parks it where that is its policy, and sets `stored`. Throws StoreConflict 'wait-settled'. */
export function expireWait(db: Database, spaces: Spaces, write: WriteOf<'expire'>): void {
  const { fence, place, key, at } = write;
  const placeId = spaces.place(fence.runNo, place.datasetNo, place.ordinal);
  const wait = db.get<WaitRow>(WAIT_OF_KEY, placeId, key);
  if (wait === undefined) throw waitMissing(key);
  if (wait.state !== OPEN) {
    write.stored = waitRecord(wait, place);
  } else if (wait.kind === 'event' && wait.policy === 'park' && write.dropped !== true) {
    db.run(PARK, wait.no);
    write.stored = { ...waitRecord(wait, place), deadline: null };
  } else {
    db.run(SETTLE, at, wait.no);
    write.stored = { ...waitRecord(wait, place), state: 'timedOut', settledAt: at };
  }
}
