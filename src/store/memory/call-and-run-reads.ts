import type { CallReads, RunReads } from '../port.ts';
import { jobOfStart } from '../receipt-name.ts';
import type { BoundaryEntry, CallEntry, RunRecord, StoredReceipt } from '../records.ts';
import type { MemoryData, MemoryReceipt } from './data.ts';
import { operationReads, waitReads } from './wait-reads.ts';

const INLINE_RAW_BYTES = 65_536;

export function callReads(data: MemoryData): CallReads {
  return {
    receiptsByKeys: async (queries) =>
      queries.map(({ key, notBefore, every = false }) => {
        const found = data.receiptsByKey
          .get(key)
          ?.findLast(
            ({ reusable, evictedAt, at }) => (every || (reusable && evictedAt === null)) && at >= (notBefore ?? 0),
          );
        return found === undefined ? undefined : storedReceipt(found);
      }),
    receiptsByIds: async (ids) =>
      ids.map((id) => {
        const receipt = data.receipts[id - 1];
        return receipt === undefined ? undefined : storedReceipt(receipt);
      }),
    receiptRaw: async (id) => data.receipts[id - 1]?.raw,
    journal: async (runNo, datasetNo, ordinals) => {
      const { calls } = data.space(runNo, datasetNo);
      return ofOrdinals<CallEntry>(calls, ordinals);
    },
    ...operationReads(data),
    unsettledReceipts: async (runNo) => {
      const live = entries(data, runNo).filter((entry) => entry.source === 'live');
      const settled = new Set(live.map((entry) => entry.receiptId));
      return data.receipts
        .filter(({ runNo: by, id }) => by === runNo && !settled.has(id))
        .filter(({ tool, key, callId }) => !tool.startsWith('ctx.') && key !== callId)
        .filter(({ tool, at, evictedAt }) => evictedAt === null || (evictedAt !== at && jobOfStart(tool) === undefined))
        .map(storedReceipt);
    },
    settledCredits: async (runNo) => creditsOf(entries(data, runNo)),
    creditsSince: async (at) =>
      creditsOf(data.runs.flatMap(({ no }) => entries(data, no)).filter((entry) => entry.at >= at)),
  };
}

export function runReads(data: MemoryData): RunReads {
  return {
    run: async (id) => data.runById(id),
    runByIdempotencyKey: async (key) => data.runs.find((run) => run.idempotencyKey === key),
    rerunsOf: async (runId) => data.runsFrom('replayedFrom', runId),
    childrenOf: async (runId) => data.runsFrom('parentRunId', runId),
    boundaries: async (runNo, datasetNo, ordinals) => {
      const { boundaries } = data.space(runNo, datasetNo);
      return ofOrdinals<BoundaryEntry>(boundaries, ordinals);
    },
    ...waitReads(data),
    runsDue: async (now, limit) => {
      const due = (run: RunRecord): boolean =>
        (run.status === 'queued' && run.wakeAt !== null && run.wakeAt <= now) ||
        (run.status === 'waiting' && ((run.wakeAt !== null && run.wakeAt <= now) || run.cancelRequested)) ||
        (run.status === 'running' && run.owner !== null && run.leaseUntil !== null && run.leaseUntil <= now);
      const since = (run: RunRecord): number => run.wakeAt ?? run.leaseUntil ?? run.createdAt;
      return data.runs
        .filter(due)
        .sort((a, b) => since(a) - since(b) || a.no - b.no)
        .slice(0, limit);
    },
  };
}

export function storedReceipt(receipt: MemoryReceipt): StoredReceipt {
  const { raw, input: _, evictedAt, ...rest } = receipt;
  const rawBytes = Buffer.byteLength(raw);
  const kept = { ...rest, raw: rawBytes <= INLINE_RAW_BYTES ? raw : undefined, rawBytes };
  return evictedAt === receipt.at ? { ...kept, isVoid: true } : kept;
}

function creditsOf(calls: readonly CallEntry[]): number {
  return calls.reduce((sum, entry) => sum + entry.credits, 0);
}

function entries(data: MemoryData, runNo: number): readonly CallEntry[] {
  return data.spaces(runNo).flatMap((space) => [...space.calls.values()].flatMap((calls) => [...calls.values()]));
}

/** Entries in the order of their ids, as an index would give them. */
function ofOrdinals<Entry>(
  of: ReadonlyMap<number, ReadonlyMap<string, Entry>>,
  ordinals: readonly number[],
): ReadonlyMap<number, readonly Entry[]> {
  const found = new Map<number, readonly Entry[]>();
  for (const ordinal of ordinals) {
    const at = [...(of.get(ordinal) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    if (at.length > 0)
      found.set(
        ordinal,
        at.map(([, entry]) => entry),
      );
  }
  return found;
}
