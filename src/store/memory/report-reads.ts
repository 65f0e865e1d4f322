import type { ReceiptFilter, ReportReads, ToolTotals } from '../port.ts';
import type { BoundaryEntry, CallEntry } from '../records.ts';
import { addTotals, inOrder } from '../tool-totals.ts';
import { storedReceipt } from './call-and-run-reads.ts';
import type { MemoryData, MemoryReceipt } from './data.ts';
import { waitReports } from './wait-reads.ts';

export function reportReads(data: MemoryData): ReportReads {
  return {
    listRuns: async ({ limit, beforeNo, status }) =>
      data.runs
        .filter(
          (run) => run.no < (beforeNo ?? Number.POSITIVE_INFINITY) && (status === undefined || run.status === status),
        )
        .reverse()
        .slice(0, limit),
    events: async (runNo, { afterSeq, limit, type }) =>
      (data.events.get(runNo) ?? [])
        .map((event, index) => ({ ...event, seq: index + 1 }))
        .filter((event) => event.seq > afterSeq && (type === undefined || event.type === type))
        .slice(0, limit),
    toolTotals: async (runNo) => toolTotals(data, runNo),
    failedRows: async (runNo, datasetNo, { afterOrdinal, limit }) =>
      [...data.space(runNo, datasetNo).rows.values()]
        .filter((row) => row.state === 'failed' && row.ordinal > afterOrdinal)
        .sort((a, b) => a.ordinal - b.ordinal)
        .slice(0, limit),
    failedCalls: async (runNo, limit) =>
      placed(data, runNo, 'calls')
        .filter((call) => call.outcome === 'failed')
        .slice(0, limit),
    listReceipts: async (filter) =>
      data.receipts
        .filter((receipt) => fits(receipt, filter))
        .slice(0, filter.limit)
        .map(withInput),
    receipt: async (id) => {
      const receipt = data.receipts[id - 1];
      return receipt === undefined ? undefined : withInput(receipt);
    },
    ...waitReports(data),
    boundariesOfRun: async (runNo, limit) => placed(data, runNo, 'boundaries').slice(0, limit),
    hitRate: async (tool) => {
      const live = data.allCalls().filter(({ entry }) => entry.tool === tool && entry.source === 'live');
      return {
        completed: live.filter(({ entry }) => entry.outcome === 'completed').length,
        noResult: live.filter(({ entry }) => entry.outcome === 'no_result').length,
      };
    },
  };
}

function toolTotals(data: MemoryData, runNo: number): readonly ToolTotals[] {
  const totals = new Map<string, ToolTotals>();
  for (const { datasetNo, calls } of data.spaces(runNo))
    for (const call of [...calls.values()].flatMap((at) => [...at.values()])) {
      const { tool, path, source, outcome, credits } = call;
      addTotals(totals, { tool, path, source, outcome, credits, datasetNo, calls: 1 });
    }
  return inOrder(totals);
}

type EntryOf<Kind> = Kind extends 'calls' ? CallEntry : BoundaryEntry;

/** Entries of a run by dataset, ordinal and time, with their places. */
function placed<Kind extends 'calls' | 'boundaries'>(data: MemoryData, runNo: number, kind: Kind) {
  return data.spaces(runNo).flatMap((space) => {
    const ordinals = space[kind] as unknown as ReadonlyMap<number, ReadonlyMap<string, EntryOf<Kind>>>;
    return [...ordinals]
      .sort(([a], [b]) => a - b)
      .flatMap(([ordinal, entries]) =>
        [...entries]
          .sort(([idA, a], [idB, b]) => a.at - b.at || (idA < idB ? -1 : 1))
          .map(([, entry]) => ({ ...entry, place: { datasetNo: space.datasetNo, ordinal } })),
      );
  });
}

function fits(receipt: MemoryReceipt, filter: ReceiptFilter): boolean {
  return (
    receipt.id > (filter.afterId ?? 0) &&
    (filter.tool === undefined || receipt.tool === filter.tool) &&
    (filter.key === undefined || receipt.key === filter.key) &&
    (filter.before === undefined || receipt.at < filter.before)
  );
}

function withInput(receipt: MemoryReceipt) {
  return { ...storedReceipt(receipt), input: receipt.input, evictedAt: receipt.evictedAt };
}
