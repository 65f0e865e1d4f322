import type { CallReads, ReportReads, RunReads } from '../port.ts';
import type { OperationRecord, WaitRecord, WriteInRun } from '../records.ts';
import { type MemoryData, type MemoryWait, type Space, WORKED_ON } from './data.ts';
import { callInRuns, isJournalled, withoutAttempt } from './operations.ts';
import { withoutRun } from './waits.ts';

export function waitReads(data: MemoryData): Pick<RunReads, 'waits' | 'answeredSince' | 'openWaits'> {
  return {
    waits: async (runNo, datasetNo, ordinals) => {
      const found = new Map<number, WaitRecord[]>();
      for (const ordinal of ordinals) {
        const at = data.waits.filter(
          ({ runNo: of, place }) => of === runNo && place.datasetNo === datasetNo && place.ordinal === ordinal,
        );
        if (at.length > 0) found.set(ordinal, at.map(withoutRun));
      }
      return found;
    },
    answeredSince: async (runNo, afterSignal) => {
      const places = new Map(
        data.waits
          .filter((wait) => wait.runNo === runNo && wait.signalNo !== null && wait.signalNo > afterSignal)
          .map(({ place }) => [`${place.datasetNo}/${place.ordinal}`, place]),
      );
      return {
        places: [...places.values()].sort((a, b) => a.datasetNo - b.datasetNo || a.ordinal - b.ordinal),
        newest: data.signals.length,
      };
    },
    openWaits: async (runNo) => {
      const open = data.waits.filter((wait) => wait.runNo === runNo && wait.state === 'open');
      const deadlines = open.map((wait) => wait.deadline).filter((deadline) => deadline !== null);
      const counts = new Map<string, number>();
      for (const { event } of open) if (event !== null) counts.set(event, (counts.get(event) ?? 0) + 1);
      return {
        wakeAt: deadlines.length === 0 ? null : deadlines.reduce((a, b) => Math.min(a, b)),
        events: [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([event, count]) => ({ event, count })),
      };
    },
  };
}

export function operationReads(
  data: MemoryData,
): Pick<CallReads, 'operations' | 'operationsOfBatch' | 'callInRuns' | 'writesOfRun'> {
  return {
    callInRuns: async (runNos, place, callId) => callInRuns(data, runNos, { place, callId }),
    writesOfRun: async (runNo) => data.spaces(runNo).flatMap(writesOf),
    operations: async (runNo, datasetNo, ordinals) => {
      const space = data.space(runNo, datasetNo);
      const found = new Map<number, OperationRecord[]>();
      for (const ordinal of ordinals) {
        const at = [...(space.operations.get(ordinal)?.values() ?? [])].sort((a, b) => (a.callId < b.callId ? -1 : 1));
        if (at.length > 0) found.set(ordinal, at.map(withoutAttempt));
      }
      return found;
    },
    operationsOfBatch: async (runNo, operationKey) =>
      data
        .spaces(runNo)
        .flatMap(({ datasetNo, operations }) =>
          [...operations].flatMap(([ordinal, at]) =>
            [...at.values()]
              .filter((operation) => operation.batch !== null && operation.operationKey === operationKey)
              .map((operation) => ({ ...withoutAttempt(operation), place: { datasetNo, ordinal } })),
          ),
        )
        .sort((a, b) => (a.batch?.index ?? 0) - (b.batch?.index ?? 0)),
  };
}

/** By ordinal and call. */
function writesOf({ datasetNo, calls, operations }: Space): readonly WriteInRun[] {
  const ordinals = [...new Set([...calls.keys(), ...operations.keys()])].sort((a, b) => a - b);
  return ordinals.flatMap((ordinal) => {
    const [ended, begun] = [calls.get(ordinal), operations.get(ordinal)];
    return [...new Set([...(ended?.keys() ?? []), ...(begun?.keys() ?? [])])].sort().flatMap((callId) => {
      const [entry, operation] = [ended?.get(callId), begun?.get(callId)];
      const isWrite = operation === undefined ? entry?.effect === 'write' : operation.site !== callId;
      const of = operation ?? entry;
      if (!isWrite || of === undefined) return [];
      const { path, label, tool, inputDigest } = of;
      return {
        ...{ callId, path, label, tool, inputDigest, place: { datasetNo, ordinal } },
        answered: entry !== undefined && entry.outcome !== 'failed',
        operation: operation === undefined ? null : { state: operation.state, refusals: operation.refusals },
      };
    });
  });
}

export function waitReports(data: MemoryData): Pick<ReportReads, 'waitsOfRuns' | 'operationsOfRun'> {
  const isAsked = (wait: MemoryWait, runNo: number | undefined): boolean => {
    if (runNo !== undefined) return wait.runNo === runNo;
    const status = data.run(wait.runNo)?.status;
    return status !== undefined && WORKED_ON.includes(status);
  };
  return {
    waitsOfRuns: async ({ runNo, limit }) =>
      data.waits
        .filter((wait) => wait.state === 'open' && isAsked(wait, runNo))
        .slice(0, limit)
        .map((wait) => ({ ...withoutRun(wait), runId: data.run(wait.runNo)?.id ?? '' })),
    operationsOfRun: async (runNo, limit) =>
      data
        .spaces(runNo)
        .flatMap((space) =>
          [...space.operations]
            .sort(([a], [b]) => a - b)
            .flatMap(([ordinal, operations]) =>
              [...operations.values()]
                .filter((operation) => !isJournalled(space, ordinal, operation))
                .sort((a, b) => a.at - b.at || (a.callId < b.callId ? -1 : 1))
                .map((operation) => ({
                  ...withoutAttempt(operation),
                  place: { datasetNo: space.datasetNo, ordinal },
                })),
            ),
        )
        .slice(0, limit),
  };
}
