import type { RunRecord } from '../../records.ts';
import { runStatus } from '../codes.ts';

/** A run as the table holds it. */
export interface RunRow {
  readonly no: number;
  readonly id: string;
  readonly play: string;
  readonly artifact: string;
  readonly input: string;
  readonly options: string;
  readonly seed: string;
  readonly identity_format: number;
  readonly created_at: number;
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly replayed_from: string | null;
  readonly idempotency_key: string | null;
  readonly status: number;
  readonly attempt: number;
  readonly owner: string | null;
  readonly lease_until: number | null;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly wake_at: number | null;
  readonly cancel_requested: number;
  readonly error: string | null;
  readonly result: string | null;
}

export function runRecord(row: RunRow): RunRecord {
  return {
    no: row.no,
    id: row.id,
    play: row.play,
    artifact: row.artifact,
    input: row.input,
    options: row.options,
    seed: row.seed,
    identityFormat: row.identity_format,
    createdAt: row.created_at,
    rootRunId: row.root_run_id,
    parentRunId: row.parent_run_id,
    replayedFrom: row.replayed_from,
    idempotencyKey: row.idempotency_key,
    status: runStatus.name(row.status),
    attempt: row.attempt,
    owner: row.owner,
    leaseUntil: row.lease_until,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    wakeAt: row.wake_at,
    cancelRequested: row.cancel_requested === 1,
    error: row.error,
    result: row.result,
  };
}
