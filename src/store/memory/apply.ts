import type { Fence } from '../../scope/index.ts';
import { StoreConflict } from '../port.ts';
import type { RunStatus } from '../records.ts';
import { staleAttempt } from '../stale-attempt.ts';
import { perform, type WriteOf, type WriteTable } from '../write-of.ts';
import type { Write } from '../writes.ts';
import { listIn, type MemoryData, mapIn } from './data.ts';
import { copyRun, isPaidInFamily, resolveOperation, upsertOperation } from './operations.ts';
import { change, existing, fenced } from './run-changes.ts';
import type { Undo } from './undo.ts';
import { armWait, deliverSignal, expireWait } from './waits.ts';

const FINISHED: readonly RunStatus[] = ['completed', 'failed', 'cancelled'];

/** Performs one write. Throws StaleAttemptError or StoreConflict; the caller then rolls back. */
export function apply(data: MemoryData, write: Write, undo: Undo): void {
  if ('fence' in write) checkFence(data, write.fence);
  perform({ ...tableOfRuns(data, undo), ...tableOfSpaces(data, undo) }, write);
}

type RunKinds = 'run' | 'lease' | 'cancel' | 'heartbeat' | 'runOptions' | 'runArtifact' | 'runState';
type FactKinds =
  | 'receipt'
  | 'evict'
  | 'endJob'
  | 'event'
  | 'claim'
  | 'releaseClaims'
  | 'signal'
  | 'resolve'
  | 'copyRun';

function tableOfRuns(data: MemoryData, undo: Undo): Pick<WriteTable, RunKinds | FactKinds> {
  return {
    run: (write) => insertRun(data, write, undo),
    lease: (write) => takeLease(data, write, undo),
    cancel: (write) => change(data, undo, { ...existing(data, write.runId), cancelRequested: true }),
    heartbeat: (write) => change(data, undo, { ...fenced(data, write.fence), leaseUntil: write.until }),
    runOptions: (write) => change(data, undo, { ...fenced(data, write.fence), options: write.options }),
    runArtifact: (write) => change(data, undo, { ...fenced(data, write.fence), artifact: write.artifact }),
    runState: (write) => setRunState(data, write, undo),
    receipt: (write) => insertReceipt(data, write, undo),
    evict: (write) => evictReceipts(data, write, undo),
    endJob: (write) => endJob(data, write, undo),
    event: (write) => undo.append(listIn(data.events, write.runNo), { ...write.event }),
    claim: (write) => claimKeys(data, write, undo),
    releaseClaims: (write) => releaseClaims(data, write, undo),
    signal: (write) => deliverSignal(data, write, undo),
    resolve: (write) => resolveOperation(data, write, undo),
    copyRun: (write) => copyRun(data, write, undo),
  };
}

function tableOfSpaces(data: MemoryData, undo: Undo): Omit<WriteTable, RunKinds | FactKinds> {
  return {
    call: (write) => {
      const { fence, place, entry, family } = write;
      const { calls } = data.space(fence.runNo, place.datasetNo);
      if (family !== undefined) write.isPaidElsewhere = isPaidInFamily(data, { ...write, family });
      const credits = write.isPaidElsewhere === true ? 0 : entry.credits;
      undo.set(mapIn(calls, place.ordinal), entry.callId, { ...entry, credits });
    },
    boundary: ({ fence, place, entry }) => {
      const { boundaries } = data.space(fence.runNo, place.datasetNo);
      undo.set(mapIn(boundaries, place.ordinal), entry.key, { ...entry });
    },
    frame: ({ fence, frame }) => {
      const space = data.space(fence.runNo, frame.datasetNo);
      const before = space.frame;
      undo.push(() => {
        space.frame = before;
      });
      space.frame = { ...frame };
    },
    frameChunk: ({ fence, datasetNo, first, keys, repeats }) => {
      const chunk = { keys: keys.slice(), repeats: repeats.slice() };
      undo.set(data.space(fence.runNo, datasetNo).chunks, first, chunk);
    },
    spool: ({ fence, datasetNo, first, rows }) => undo.set(data.space(fence.runNo, datasetNo).spool, first, [...rows]),
    arm: (write) => armWait(data, write, undo),
    expire: (write) => expireWait(data, write, undo),
    operation: (write) => upsertOperation(data, write, undo),
    row: ({ fence, datasetNo, row }) => undo.set(data.space(fence.runNo, datasetNo).rows, row.ordinal, { ...row }),
    forgetRows: ({ fence, datasetNo }) => {
      const { rows } = data.space(fence.runNo, datasetNo);
      for (const [ordinal, row] of [...rows]) {
        undo.push(() => void rows.set(ordinal, row));
        rows.delete(ordinal);
      }
    },
  };
}

function checkFence(data: MemoryData, fence: Fence): void {
  const { attempt } = fenced(data, fence);
  if (attempt !== fence.attempt) throw staleAttempt(fence, attempt);
}

function insertRun(data: MemoryData, write: WriteOf<'run'>, undo: Undo): void {
  const { run } = write;
  const other = data.runs.find(
    (known) => known.id === run.id || (run.idempotencyKey !== null && known.idempotencyKey === run.idempotencyKey),
  );
  if (other !== undefined)
    throw new StoreConflict(
      'run-exists',
      other.id === run.id
        ? `There is a run ${run.id} already.`
        : `Run ${other.id} was started with the idempotency key ${run.idempotencyKey}.`,
    );
  const no = data.runs.length + 1;
  undo.push(() => {
    delete write.no;
  });
  undo.append(data.runs, {
    ...run,
    no,
    status: 'queued',
    attempt: 0,
    owner: null,
    leaseUntil: null,
    startedAt: null,
    finishedAt: null,
    cancelRequested: run.parentRunId !== null && data.runById(run.parentRunId)?.cancelRequested === true,
    error: null,
    result: null,
  });
  write.no = no;
}

function takeLease(data: MemoryData, write: WriteOf<'lease'>, undo: Undo): void {
  const run = existing(data, write.runId);
  if (write.attempt !== run.attempt + 1)
    throw new StoreConflict(
      'lease',
      `Run ${run.id} is at attempt ${run.attempt}; attempt ${write.attempt} is not the next.`,
    );
  if (!write.takeOver && run.owner !== null && run.leaseUntil !== null && run.leaseUntil > write.now)
    throw new StoreConflict(
      'lease',
      `Run ${run.id} is held by ${run.owner} until ${new Date(run.leaseUntil).toISOString()}.`,
    );
  change(data, undo, {
    ...run,
    attempt: write.attempt,
    owner: write.owner,
    leaseUntil: write.until,
    status: 'running',
    // What a run was asked that ended before it could heed it is not asked of the next attempt.
    cancelRequested: run.cancelRequested && run.status !== 'completed' && run.status !== 'failed',
    startedAt: run.startedAt ?? write.now,
    finishedAt: null,
    wakeAt: null,
    error: null,
    result: null,
  });
}

function setRunState(data: MemoryData, write: WriteOf<'runState'>, undo: Undo): void {
  change(data, undo, {
    ...fenced(data, write.fence),
    status: write.status,
    finishedAt: FINISHED.includes(write.status) ? write.at : null,
    error: write.error,
    result: write.result,
    wakeAt: answeredMeanwhile(data, write) ? write.at : write.wakeAt,
    owner: null,
    leaseUntil: null,
  });
}

/** Whether a signal has answered a wait that the attempt, while it was ending, did not know to be answered. */
function answeredMeanwhile(data: MemoryData, { status, seenSignal, fence }: WriteOf<'runState'>): boolean {
  if (status !== 'waiting' || seenSignal === undefined) return false;
  return data.waits.some((wait) => wait.runNo === fence.runNo && wait.signalNo !== null && wait.signalNo > seenSignal);
}

function insertReceipt(data: MemoryData, write: WriteOf<'receipt'>, undo: Undo): void {
  const receipt = { ...write.receipt, id: data.receipts.length + 1, evictedAt: null };
  undo.push(() => {
    delete write.id;
  });
  undo.append(data.receipts, receipt);
  undo.append(listIn(data.receiptsByKey, receipt.key), receipt);
  write.id = receipt.id;
}

function endJob(data: MemoryData, write: WriteOf<'endJob'>, undo: Undo): void {
  const { start, end, at } = write;
  const id = end.id ?? 0;
  if (!data.jobEnds.has(start)) undo.set(data.jobEnds, start, id);
  write.isEndedBefore = data.jobEnds.get(start) !== id;
  evictReceipts(data, { receiptIds: [start], at }, undo);
  const receipt = data.receipts[id - 1];
  if (write.isEndedBefore && receipt !== undefined) evictReceipts(data, { receiptIds: [id], at: receipt.at }, undo);
}

function evictReceipts(data: MemoryData, write: Pick<WriteOf<'evict'>, 'receiptIds' | 'at'>, undo: Undo): void {
  for (const id of write.receiptIds) {
    const receipt = data.receipts[id - 1];
    if (receipt === undefined || receipt.evictedAt !== null) continue;
    undo.push(() => {
      receipt.evictedAt = null;
    });
    receipt.evictedAt = write.at;
  }
}

function claimKeys(data: MemoryData, write: WriteOf<'claim'>, undo: Undo): void {
  const claims = mapIn(data.claims, write.scope);
  undo.push(() => {
    delete write.granted;
  });
  write.granted = write.keys.map((key) => {
    const holder = claims.get(key);
    if (holder === undefined) undo.set(claims, key, write.fence.runNo);
    return holder === undefined || holder === write.fence.runNo;
  });
}

function releaseClaims(data: MemoryData, write: WriteOf<'releaseClaims'>, undo: Undo): void {
  for (const claims of data.claims.values())
    for (const [key, runNo] of claims) {
      if (runNo !== write.fence.runNo) continue;
      undo.push(() => void claims.set(key, runNo));
      claims.delete(key);
    }
}
