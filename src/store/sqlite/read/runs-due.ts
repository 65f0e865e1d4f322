import type { Instant, RunRecord } from '../../records.ts';
import { runStatus } from '../codes.ts';
import type { Reader } from '../reader.ts';
import { type RunRow, runRecord } from './run-row.ts';

const DUE = `SELECT * FROM runs WHERE (status = ${runStatus.number('queued')} AND wake_at <= ?)
  OR (status = ${runStatus.number('waiting')} AND (wake_at <= ? OR cancel_requested = 1))
  OR (status = ${runStatus.number('running')} AND owner IS NOT NULL AND lease_until <= ?)
  ORDER BY coalesce(wake_at, lease_until, created_at), no LIMIT ?`;

/** Runs that an attempt is due for: queued for whoever works on due runs, woken or cancelled while waiting, or left by a process whose lease is over. */
export function runsDue(reader: Reader, now: Instant, limit: number): Promise<readonly RunRecord[]> {
  return reader.read(() => reader.db.all<RunRow>(DUE, now, now, now, limit).map(runRecord));
}
