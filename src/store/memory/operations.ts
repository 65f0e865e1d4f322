import type { Digest, Place } from '../../scope/index.ts';
import { operationMissing, runNumberMissing, runStarted } from '../conflicts.ts';
import type { CallInRun, OperationRecord } from '../records.ts';
import { isSameStanding } from '../same-standing.ts';
import type { WriteOf } from '../write-of.ts';
import { type MemoryData, type MemoryOperation, mapIn, type Space } from './data.ts';
import { existing, wakeRun } from './run-changes.ts';
import type { Undo } from './undo.ts';

/** Keeps what the attempt is about to do: not over what was said to be done, nor over what a later attempt knows of. */
export function upsertOperation(data: MemoryData, write: WriteOf<'operation'>, undo: Undo): void {
  const { fence, place, operation, known: family } = write;
  if (family !== undefined) {
    const nos = othersInFamily(data, family.root, fence.runNo);
    write.overtaken = !isSameStanding(family.standing, callInRuns(data, nos, { place, callId: operation.callId }));
    if (write.overtaken) return;
  }
  const operations = mapIn(data.space(fence.runNo, place.datasetNo).operations, place.ordinal);
  const known = operations.get(operation.callId);
  if (known?.state === 'done' || (known?.state === 'notDone' && fence.attempt <= known.attempt)) return;
  undo.set(operations, operation.callId, { ...operation, attempt: fence.attempt });
}

function othersInFamily(data: MemoryData, root: string, runNo: number): readonly number[] {
  const family = [...data.runs.filter(({ id }) => id === root), ...data.runsFrom('replayedFrom', root)];
  return family.map(({ no }) => no).filter((no) => no !== runNo);
}

/** True where another run of the family has paid for a call under the operation key that this run is on record with. */
export function isPaidInFamily(
  data: MemoryData,
  { family, fence, place, entry: { callId } }: WriteOf<'call'> & { readonly family: string },
): boolean {
  const keyIn = (space: Space): string | undefined => space.operations.get(place.ordinal)?.get(callId)?.operationKey;
  const key = keyIn(data.space(fence.runNo, place.datasetNo));
  if (key === undefined) return false;
  return othersInFamily(data, family, fence.runNo).some((no) => {
    const space = data.space(no, place.datasetNo);
    const entry = space.calls.get(place.ordinal)?.get(callId);
    return keyIn(space) === key && entry !== undefined && entry.credits > 0;
  });
}

/** Settles an operation in doubt, and wakes its run. Throws StoreConflict 'run-missing' or 'operation-missing'. */
export function resolveOperation(data: MemoryData, write: WriteOf<'resolve'>, undo: Undo): void {
  const run = existing(data, write.runId);
  let found = false;
  for (const space of data.spaces(run.no))
    for (const [ordinal, operations] of space.operations) {
      const known = operations.get(write.callId);
      if (known === undefined || !isUnresolved(known) || isJournalled(space, ordinal, known)) continue;
      undo.set(operations, write.callId, { ...known, state: write.as, answer: write.answer, at: write.at });
      found = true;
    }
  if (!found) throw operationMissing(write.runId, write.callId);
  wakeRun(data, undo, { runNo: run.no, at: write.at });
}

/** Gives a run that had no attempt yet what a rerun begins with. Throws StoreConflict 'run-missing'. */
export function copyRun(data: MemoryData, write: WriteOf<'copyRun'>, undo: Undo): void {
  const target = existing(data, write.toRunId);
  if (target.attempt > 0) throw runStarted(write.toRunId);
  if (data.run(write.fromRunNo) === undefined) throw runNumberMissing(write.fromRunNo);
  for (const from of data.spaces(write.fromRunNo)) {
    const to = data.space(target.no, from.datasetNo);
    const before = to.frame;
    undo.push(() => {
      to.frame = before;
    });
    to.frame = from.frame ?? before;
    for (const [first, chunk] of from.chunks) undo.set(to.chunks, first, chunk);
    for (const [first, rows] of from.spool) undo.set(to.spool, first, rows);
    const again = write.again.filter((each) => each.datasetNo === from.datasetNo).map((each) => each.ordinals);
    const without = new Set(again.flatMap((ordinals) => (ordinals === 'all' ? [] : ordinals)));
    if (!again.includes('all'))
      for (const [ordinal, row] of from.rows) {
        // What they cost was paid by the source.
        if (!without.has(ordinal)) undo.set(to.rows, ordinal, { ...row, credits: 0 });
      }
    for (const [ordinal, boundaries] of from.boundaries)
      for (const [key, entry] of boundaries)
        if (entry.kind === 'csv') undo.set(mapIn(to.boundaries, ordinal), key, entry);
    copyOperations(from, to, undo);
  }
}

/**
 * Without what was not done, and without reads: a rerun asks them under keys of its own, or both would settle what is charged
 * once. Tries that ended failed are over, while a request that may have been done stays in doubt.
 */
function copyOperations(from: Space, to: Space, undo: Undo): void {
  for (const [ordinal, operations] of from.operations)
    for (const [callId, operation] of operations) {
      if (operation.state === 'notDone' || isJournalled(from, ordinal, operation)) continue;
      const isRead = operation.site === callId;
      if (operation.state === 'retrying' && (isRead || from.calls.get(ordinal)?.has(callId))) continue;
      undo.set(mapIn(to.operations, ordinal), callId, { ...operation, attempt: 0 });
    }
}

function isUnresolved(operation: OperationRecord): boolean {
  return operation.state === 'intended' || operation.state === 'retrying';
}

/** An answer in the journal is what became of the operation; a failure may be the doubt itself. */
export function isJournalled(space: Space, ordinal: number, operation: OperationRecord): boolean {
  const entry = space.calls.get(ordinal)?.get(operation.callId);
  return entry !== undefined && entry.outcome !== 'failed';
}

/** How a call stands in each of the runs that has a record of it. */
export function callInRuns(
  data: MemoryData,
  runNos: readonly number[],
  { place, callId }: { readonly place: Place; readonly callId: Digest },
): readonly CallInRun[] {
  return runNos.flatMap((runNo) => {
    const space = data.space(runNo, place.datasetNo);
    const entry = space.calls.get(place.ordinal)?.get(callId);
    const operation = space.operations.get(place.ordinal)?.get(callId);
    if (entry === undefined && operation === undefined) return [];
    return {
      runNo,
      answered: entry !== undefined && entry.outcome !== 'failed',
      operation: operation === undefined ? null : withoutAttempt(operation),
      inherited: operation?.attempt === 0,
    };
  });
}

export function withoutAttempt({ attempt, ...operation }: MemoryOperation): OperationRecord {
  return { ...operation, ...(attempt === 0 && { isInherited: true }) };
}
