import type { CallReads } from './port.ts';
import type { OpenTry } from './sqlite/try-log.ts';

/** `answered`: nothing is settled. `failed`: they may have been done all the same, in this try or one before. */
export type RecordedTry = 'ended' | 'answered' | 'failed';

/** What the store tells of calls that were out when an attempt died, or whose answers were lost. */
export async function recordedTries(
  reads: Pick<CallReads, 'journal' | 'unsettledReceipts'>,
  runNo: number,
  tries: readonly OpenTry[],
): Promise<ReadonlyMap<string, RecordedTry>> {
  const recorded = new Map<string, RecordedTry>();
  if (tries.length === 0) return recorded;
  const open = new Set(tries.map(({ callId }) => callId));
  for (const [datasetNo, of] of Map.groupBy(tries, ({ place }) => place.datasetNo)) {
    const ordinals = [...new Set(of.map(({ place }) => place.ordinal))];
    for (const entries of (await reads.journal(runNo, datasetNo, ordinals)).values())
      for (const { callId, error, receiptId } of entries)
        if (open.has(callId)) recorded.set(callId, error === null || receiptId !== null ? 'ended' : 'failed');
  }
  for (const { callId } of await reads.unsettledReceipts(runNo)) if (open.has(callId)) recorded.set(callId, 'answered');
  return recorded;
}
