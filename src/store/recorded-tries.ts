import type { CallReads } from './port.ts';
import type { OpenTry } from './sqlite/try-log.ts';

/**
 * What the store tells of calls that were out when an attempt died: that they have `ended`, or were `answered` and nothing is
 * settled. Of the others nobody knows: a failure may be that of a try before.
 */
export async function recordedTries(
  reads: Pick<CallReads, 'journal' | 'unsettledReceipts'>,
  runNo: number,
  tries: readonly OpenTry[],
): Promise<ReadonlyMap<string, 'ended' | 'answered'>> {
  const recorded = new Map<string, 'ended' | 'answered'>();
  if (tries.length === 0) return recorded;
  const open = new Set(tries.map(({ callId }) => callId));
  for (const { callId } of await reads.unsettledReceipts(runNo)) if (open.has(callId)) recorded.set(callId, 'answered');
  for (const [datasetNo, of] of Map.groupBy(tries, ({ place }) => place.datasetNo)) {
    const ordinals = [...new Set(of.map(({ place }) => place.ordinal))];
    for (const entries of (await reads.journal(runNo, datasetNo, ordinals)).values())
      for (const { callId, error, receiptId } of entries)
        if (open.has(callId) && (error === null || receiptId !== null)) recorded.set(callId, 'ended');
  }
  return recorded;
}
