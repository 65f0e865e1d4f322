import { isSameStanding } from '../../same-standing.ts';
import type { WriteOf } from '../../write-of.ts';
import { operationState } from '../codes.ts';
import { standing } from '../read/call-in-runs.ts';
import type { Reader } from '../reader.ts';
import { othersInFamily } from './family.ts';

/** What somebody said was done stays so; what was not done, a later attempt may do again. */
const UPSERT = `INSERT INTO operations (place, call_id, run_no, attempt, state, tries, refusals, wait_until, at, site,
  input_digest, operation_key, tool, label, path, answer, batch)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (place, call_id) DO UPDATE SET attempt = excluded.attempt, state = excluded.state, tries = excluded.tries,
    refusals = excluded.refusals, wait_until = excluded.wait_until, at = excluded.at, site = excluded.site,
    input_digest = excluded.input_digest, operation_key = excluded.operation_key, tool = excluded.tool,
    label = excluded.label, path = excluded.path, answer = excluded.answer, batch = excluded.batch
  WHERE operations.state IN (${operationState.number('intended')}, ${operationState.number('retrying')})
    OR (operations.state = ${operationState.number('notDone')} AND excluded.attempt > operations.attempt)`;

/**
 * Keeps what the attempt is about to do, or how far its tries are, unless its family has overtaken it.
 *
 * @param flush makes what waits for a batched insert readable
 */
export function upsertOperation(
  { db, spaces }: Pick<Reader, 'db' | 'spaces'>,
  write: WriteOf<'operation'>,
  flush: () => void,
): void {
  const { fence, place, operation, known } = write;
  if (known !== undefined) {
    const runNos = othersInFamily(db, known.root, fence.runNo);
    if (runNos.length > 0) flush();
    write.overtaken = !isSameStanding(known.standing, standing({ db, spaces }, { runNos, place, ...operation }));
    if (write.overtaken) return;
  }
  db.run(
    UPSERT,
    spaces.place(fence.runNo, place.datasetNo, place.ordinal),
    operation.callId,
    fence.runNo,
    fence.attempt,
    operationState.number(operation.state),
    operation.tries,
    operation.refusals,
    operation.waitUntil,
    operation.at,
    operation.site,
    operation.inputDigest,
    operation.operationKey,
    operation.tool,
    operation.label,
    operation.path,
    operation.answer,
    operation.batch === null ? null : JSON.stringify(operation.batch),
  );
}
