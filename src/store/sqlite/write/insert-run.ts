import { StoreConflict } from '../../port.ts';
import type { WriteOf } from '../../write-of.ts';
import { runStatus } from '../codes.ts';
import type { Database } from '../driver.ts';

const EXISTS = 'SELECT id, idempotency_key FROM runs WHERE id = ? OR idempotency_key = ?';
const INSERT = `INSERT INTO runs (id, play, artifact, input, options, seed, identity_format, created_at, root_run_id,
  parent_run_id, replayed_from, idempotency_key, wake_at, first_receipt_id, status, attempt, cancel_requested)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) + 1 FROM receipts), ?, 0,
  coalesce((SELECT cancel_requested FROM runs WHERE id = ?), 0)) RETURNING no`;

/** Makes a run, with cancel requested where that is so of its parent, and gives it its number. Throws StoreConflict 'run-exists' for a known id or idempotency key. */
export function insertRun(db: Database, write: WriteOf<'run'>): void {
  const { run } = write;
  const other = db.get<{ id: string }>(EXISTS, run.id, run.idempotencyKey);
  if (other !== undefined)
    throw new StoreConflict(
      'run-exists',
      other.id === run.id
        ? `There is a run ${run.id} already.`
        : `Run ${other.id} was started with the idempotency key ${run.idempotencyKey}.`,
    );
  const made = db.get<{ no: number }>(
    INSERT,
    run.id,
    run.play,
    run.artifact,
    run.input,
    run.options,
    run.seed,
    run.identityFormat,
    run.createdAt,
    run.rootRunId,
    run.parentRunId,
    run.replayedFrom,
    run.idempotencyKey,
    run.wakeAt,
    runStatus.number('queued'),
    run.parentRunId,
  );
  write.no = made?.no ?? 0;
}
