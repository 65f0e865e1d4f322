import type { NewWait, WaitRecord } from '../../records.ts';
import type { WriteOf } from '../../write-of.ts';
import { waitState } from '../codes.ts';
import type { Database } from '../driver.ts';
import { type WaitRow, waitRecord } from '../read/wait-row.ts';
import type { Spaces } from '../spaces.ts';

export const WAIT_OF_KEY = 'SELECT * FROM waits WHERE place = ? AND key = ?';
const KEPT = `SELECT no, data FROM signals
  WHERE consumed = 0 AND run_no = ? AND event = ? AND (row_key IS NULL OR row_key = ?) ORDER BY no LIMIT 1`;
const CONSUME = 'UPDATE signals SET consumed = 1 WHERE no = ?';
const INSERT = `INSERT INTO waits (place, run_no, state, kind, policy, armed_at, deadline, settled_at, signal_no, key,
  input_digest, event, row_key, label, path, payload)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING no`;

/** What an answer, or its absence, makes of a new wait. */
type Answer = Pick<WaitRecord, 'state' | 'payload' | 'signalNo' | 'settledAt'>;

const NO_ANSWER: Answer = { state: 'open', payload: null, signalNo: null, settledAt: null };

/** Arms a wait unless its key is there, and sets `stored`. The oldest signal kept for it answers it at once. */
export function armWait(db: Database, spaces: Spaces, write: WriteOf<'arm'>): void {
  const { fence, place } = write;
  const { early = true, ...wait } = write.wait;
  const placeId = spaces.place(fence.runNo, place.datasetNo, place.ordinal);
  const known = db.get<WaitRow>(WAIT_OF_KEY, placeId, wait.key);
  if (known !== undefined) {
    write.stored = waitRecord(known, place);
    return;
  }
  const answer = early ? takeKept(db, fence.runNo, wait) : NO_ANSWER;
  const made = db.get<{ no: number }>(
    INSERT,
    placeId,
    fence.runNo,
    waitState.number(answer.state),
    wait.kind,
    wait.policy,
    wait.armedAt,
    wait.deadline,
    answer.settledAt,
    answer.signalNo,
    wait.key,
    wait.inputDigest,
    wait.event,
    wait.rowKey,
    wait.label,
    wait.path,
    answer.payload,
  );
  write.stored = { ...wait, ...answer, no: made?.no ?? 0, place };
}

function takeKept(db: Database, runNo: number, wait: NewWait): Answer {
  if (wait.kind !== 'event') return NO_ANSWER;
  const kept = db.get<{ no: number; data: string }>(KEPT, runNo, wait.event, wait.rowKey);
  if (kept === undefined) return NO_ANSWER;
  db.run(CONSUME, kept.no);
  return { state: 'answered', payload: kept.data, signalNo: kept.no, settledAt: wait.armedAt };
}
