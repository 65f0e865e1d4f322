import type { CallReads, DatasetReads, ReportReads, RunReads } from '../port.ts';
import { answeredSince } from './read/answered-since.ts';
import { boundaries, boundariesOfRun } from './read/boundaries.ts';
import { callInRuns } from './read/call-in-runs.ts';
import { creditsSince } from './read/credits-since.ts';
import { events } from './read/events.ts';
import { failedCalls } from './read/failed-calls.ts';
import { frameChunk } from './read/frame-chunk.ts';
import { frames } from './read/frames.ts';
import { hitRate } from './read/hit-rate.ts';
import { journal } from './read/journal.ts';
import { legCounts } from './read/leg-counts.ts';
import { listReceipts, receipt } from './read/list-receipts.ts';
import { listRuns } from './read/list-runs.ts';
import { openWaits } from './read/open-waits.ts';
import { operations, operationsOfBatch, operationsOfRun } from './read/operations.ts';
import { previousFrame } from './read/previous-frame.ts';
import { receiptRaw } from './read/receipt-raw.ts';
import { receiptsByIds } from './read/receipts-by-ids.ts';
import { receiptsByKeys } from './read/receipts-by-keys.ts';
import { rowCounts, rowStates } from './read/row-states.ts';
import { failedRows, rows } from './read/rows.ts';
import { run, runByIdempotencyKey } from './read/run.ts';
import { runTree } from './read/run-tree.ts';
import { runsDue } from './read/runs-due.ts';
import { settledCredits } from './read/settled-credits.ts';
import { spool } from './read/spool.ts';
import { toolTotals } from './read/tool-totals.ts';
import { unsettledReceipts } from './read/unsettled-receipts.ts';
import { waits, waitsOfRuns } from './read/waits.ts';
import { writesOfRun } from './read/writes-of-run.ts';
import type { Reader } from './reader.ts';

export function callReads(reader: Reader): CallReads {
  return {
    receiptsByKeys: (queries) => receiptsByKeys(reader, queries),
    receiptsByIds: (ids) => receiptsByIds(reader, ids),
    receiptRaw: (id) => receiptRaw(reader, id),
    journal: (runNo, datasetNo, ordinals) => journal(reader, { runNo, datasetNo, ordinals }),
    operations: (runNo, datasetNo, ordinals) => operations(reader, { runNo, datasetNo, ordinals }),
    operationsOfBatch: (runNo, operationKey) => operationsOfBatch(reader, runNo, operationKey),
    callInRuns: (runNos, place, callId) => callInRuns(reader, { runNos, place, callId }),
    writesOfRun: (runNo) => writesOfRun(reader, runNo),
    unsettledReceipts: (runNo) => unsettledReceipts(reader, runNo),
    settledCredits: (runNo) => settledCredits(reader, runNo),
    creditsSince: (at) => creditsSince(reader, at),
  };
}

export function runReads(reader: Reader): RunReads {
  return {
    run: (id) => run(reader, id),
    runByIdempotencyKey: (key) => runByIdempotencyKey(reader, key),
    rerunsOf: (runId) => runTree(reader, 'replayed_from', runId),
    childrenOf: (runId) => runTree(reader, 'parent_run_id', runId),
    boundaries: (runNo, datasetNo, ordinals) => boundaries(reader, { runNo, datasetNo, ordinals }),
    waits: (runNo, datasetNo, ordinals) => waits(reader, { runNo, datasetNo, ordinals }),
    answeredSince: (runNo, afterSignal) => answeredSince(reader, runNo, afterSignal),
    openWaits: (runNo) => openWaits(reader, runNo),
    runsDue: (now, limit) => runsDue(reader, now, limit),
  };
}

export function datasetReads(reader: Reader): DatasetReads {
  return {
    frames: (runNo) => frames(reader, runNo),
    frameChunk: (runNo, datasetNo, ...[from, to]) => frameChunk(reader, { runNo, datasetNo, from, to }),
    spool: (runNo, datasetNo, ...[from, to]) => spool(reader, { runNo, datasetNo, from, to }),
    rows: (runNo, datasetNo, range) => rows(reader, { runNo, datasetNo, ...range }),
    rowStates: (runNo, datasetNo, ...[from, to]) => rowStates(reader, { runNo, datasetNo, from, to }),
    rowCounts: (runNo, datasetNo) => rowCounts(reader, { runNo, datasetNo }),
    legCounts: (runNo, datasetNo) => legCounts(reader, { runNo, datasetNo }),
    previousFrame: (play, datasetKey, beforeRunNo) => previousFrame(reader, { play, datasetKey, beforeRunNo }),
  };
}

export function reportReads(reader: Reader): ReportReads {
  return {
    listRuns: (page) => listRuns(reader, page),
    events: (runNo, page) => events(reader, runNo, page),
    toolTotals: (runNo) => toolTotals(reader, runNo),
    failedRows: (runNo, datasetNo, page) => failedRows(reader, { runNo, datasetNo, ...page }),
    failedCalls: (runNo, limit) => failedCalls(reader, runNo, limit),
    listReceipts: (filter) => listReceipts(reader, filter),
    receipt: (id) => receipt(reader, id),
    waitsOfRuns: (filter) => waitsOfRuns(reader, filter),
    operationsOfRun: (runNo, limit) => operationsOfRun(reader, runNo, limit),
    boundariesOfRun: (runNo, limit) => boundariesOfRun(reader, runNo, limit),
    hitRate: (tool) => hitRate(reader, tool),
  };
}
