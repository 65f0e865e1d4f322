import {
  eventSettled,
  eventWaitMissing,
  runFinished,
  runMissing,
  SEVERAL_PLACES,
  signalKept,
  signalSeveral,
  signalUnawaited,
  waitSettled,
} from '../../conflicts.ts';
import type { NewSignal, SignalOutcome, WaitRecord } from '../../records.ts';
import type { WriteOf } from '../../write-of.ts';
import { runStatus, waitState } from '../codes.ts';
import type { Database, SqlValue } from '../driver.ts';
import { wakeRun } from './wake-run.ts';

const OPEN = waitState.number('open');
const RUN = 'SELECT no, id, status FROM runs WHERE id = ?';
const RUN_OF_WAIT = `SELECT r.no, r.id, r.status, w.state, w.settled_at FROM waits w JOIN runs r ON r.no = w.run_no
  WHERE w.no = ? AND w.kind = 'event'`;
const LAST_SETTLED = `SELECT state, settled_at FROM waits WHERE run_no = ? AND event = ? AND state <> ${OPEN}
  AND (? IS NULL OR row_key = ?) ORDER BY settled_at DESC, no DESC LIMIT 1`;
const KEPT_BEFORE = `SELECT at FROM signals WHERE consumed = 0 AND run_no = ? AND event = ? AND row_key IS ?
  ORDER BY no LIMIT 1`;
const WORKED_ON = ['queued', 'running', 'waiting'] as const;
const OF_WORKED_ON = `run_no IN (SELECT no FROM runs WHERE status IN (${WORKED_ON.map(runStatus.number).join(', ')}))`;
const KEEP = 'INSERT INTO signals (run_no, event, row_key, at, consumed, data) VALUES (?, ?, ?, ?, ?, ?) RETURNING no';
const ANSWER = `UPDATE waits SET state = ${waitState.number('answered')}, payload = ?, signal_no = ?, settled_at = max(armed_at, ?)
  WHERE no IN (SELECT value FROM json_each(?)) RETURNING no, run_no, row_key`;
const WHERE_THEY_WAIT = `SELECT r.id AS runId, w.row_key AS rowKey FROM waits w JOIN runs r ON r.no = w.run_no
  WHERE w.no IN (SELECT value FROM json_each(?)) ORDER BY w.no`;

interface RunRow {
  readonly no: number;
  readonly id: string;
  readonly status: number;
}

interface EndRow {
  readonly state: number;
  readonly settled_at: number | null;
}

/** Answers waits or keeps the signal, and sets `outcome`. Throws the StoreConflicts that the port names. */
export function deliverSignal(db: Database, write: WriteOf<'signal'>): void {
  const { signal } = write;
  const run = signal.runId === null ? undefined : runThatTakes(db, signal.runId);
  const waits = signal.waitNo === null ? waitsFor(db, signal, run) : [oneWait(db, signal.waitNo, run)];
  if (waits.length === 0 && run === undefined) throw signalUnawaited(signal.event);
  const kept = waits.length === 0;
  if (kept && run !== undefined && signal.keep !== true) assertFirst(db, signal, run);
  const values = [run?.no ?? null, signal.event, signal.rowKey, signal.at, kept ? 0 : 1, kept ? signal.data : null];
  const signalNo = db.get<{ no: number }>(KEEP, ...values)?.no ?? 0;
  write.outcome = { delivered: kept ? [] : answer(db, { signal, signalNo, waits }), kept };
}

/** The run, where it may still be worked on: a failed one may be resumed. */
function runThatTakes(db: Database, id: string): RunRow {
  const run = db.get<RunRow>(RUN, id);
  if (run === undefined) throw runMissing(id);
  return unfinished(run);
}

function unfinished(run: RunRow): RunRow {
  const status = runStatus.name(run.status);
  if (status === 'completed' || status === 'cancelled') throw runFinished(run.id, status);
  return run;
}

/** Throws 'wait-settled' for a wait that is over, 'wait-missing' for one that is not there, or not in the run named. */
function oneWait(db: Database, waitNo: number, run: RunRow | undefined): number {
  const wait = db.get<RunRow & EndRow>(RUN_OF_WAIT, waitNo);
  if (wait === undefined || (run !== undefined && wait.no !== run.no)) throw eventWaitMissing(waitNo, run?.id ?? null);
  if (wait.state !== OPEN) throw waitSettled(waitNo, ending(wait));
  unfinished(wait);
  return waitNo;
}

/**
 * Throws 'wait-settled' where the run's wait for the event is over, or another signal is kept for it: this one may have
 * been sent twice.
 */
function assertFirst(db: Database, signal: NewSignal, run: RunRow): void {
  const before = db.get<{ at: number }>(KEPT_BEFORE, run.no, signal.event, signal.rowKey);
  if (before !== undefined) throw signalKept(signal, before.at);
  const settled = db.get<EndRow>(LAST_SETTLED, run.no, signal.event, signal.rowKey, signal.rowKey);
  if (settled !== undefined) throw eventSettled(signal, ending(settled));
}

function ending({ state, settled_at: settledAt }: EndRow): Pick<WaitRecord, 'state' | 'settledAt'> {
  return { state: waitState.name(state), settledAt };
}

/** The earliest wait that matches, of each row. */
function waitsFor(db: Database, signal: NewSignal, run: RunRow | undefined): readonly number[] {
  const conditions = [`state = ${OPEN}`, 'event = ?', run === undefined ? OF_WORKED_ON : 'run_no = ?'];
  const values: SqlValue[] = [signal.event];
  if (run !== undefined) values.push(run.no);
  if (signal.rowKey !== null) {
    conditions.push('row_key = ?');
    values.push(signal.rowKey);
  }
  const sql = `SELECT min(no) AS no FROM waits WHERE ${conditions.join(' AND ')} GROUP BY place ORDER BY no LIMIT ?`;
  const limit = signal.all ? -1 : SEVERAL_PLACES;
  const waits = db.all<{ no: number }>(sql, ...values, limit).map((wait) => wait.no);
  if (!signal.all && waits.length > 1)
    throw signalSeveral(signal.event, db.all(WHERE_THEY_WAIT, JSON.stringify(waits)));
  return waits;
}

function answer(
  db: Database,
  of: { readonly signal: NewSignal; readonly signalNo: number; readonly waits: readonly number[] },
): SignalOutcome['delivered'] {
  const { data, at } = of.signal;
  const answered = db.all<{ no: number; run_no: number; row_key: string | null }>(
    ANSWER,
    data,
    of.signalNo,
    at,
    JSON.stringify(of.waits),
  );
  const ids = new Map<number, string>();
  for (const { run_no: runNo } of answered) {
    if (ids.has(runNo)) continue;
    ids.set(runNo, db.get<{ id: string }>('SELECT id FROM runs WHERE no = ?', runNo)?.id ?? '');
    wakeRun(db, runNo, at);
  }
  return answered
    .sort((a, b) => a.no - b.no)
    .map((wait) => ({ runId: ids.get(wait.run_no) ?? '', waitNo: wait.no, rowKey: wait.row_key }));
}
