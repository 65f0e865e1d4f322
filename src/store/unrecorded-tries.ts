import type { CallReads } from './port.ts';
import type { OpenTry } from './sqlite/try-log.ts';

/** Of calls that were out when an attempt died, those that nothing else tells of: neither an end nor an answer is on record. */
export async function unrecordedTries(
  reads: Pick<CallReads, 'journal' | 'unsettledReceipts'>,
  runNo: number,
  tries: readonly OpenTry[],
): Promise<ReadonlySet<string>> {
  const left = new Set(tries.map(({ callId }) => callId));
  if (left.size === 0) return left;
  for (const { callId } of await reads.unsettledReceipts(runNo)) left.delete(callId);
  for (const [datasetNo, of] of Map.groupBy(tries, ({ place }) => place.datasetNo)) {
    const ordinals = [...new Set(of.map(({ place }) => place.ordinal))];
    for (const entries of (await reads.journal(runNo, datasetNo, ordinals)).values())
      for (const { callId } of entries) left.delete(callId);
  }
  return left;
}
