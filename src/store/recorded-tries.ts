import type { CallReads } from './port.ts';
import type { CallEntry } from './records.ts';
import type { LeftTry, OpenTry } from './sqlite/try-log.ts';

/**
 * `answered`: nothing is settled. `failed`: they may have been done all the same, in this try or one before. `elsewhere`: so may
 * they, and what others have bought answers the call, which does not go out again.
 */
export type RecordedTry =
  | { readonly end: 'ended'; readonly credits: number }
  | { readonly end: 'answered' | 'failed' | 'elsewhere' };

/** What the store tells of calls that were out when an attempt died, or whose answers were lost. */
export async function recordedTries(
  reads: Pick<CallReads, 'journal' | 'unsettledReceipts'>,
  runNo: number,
  tries: readonly OpenTry[],
): Promise<ReadonlyMap<string, RecordedTry>> {
  const recorded = new Map<string, RecordedTry>();
  if (tries.length === 0) return recorded;
  const open = new Set(tries.map(({ callId }) => callId));
  for (const entry of await entriesOf(reads, runNo, tries)) recorded.set(entry.callId, endOf(entry));
  for (const { callId } of await reads.unsettledReceipts(runNo))
    if (open.has(callId)) recorded.set(callId, { end: 'answered' });
  return recorded;
}

/**
 * Credits that the journal of a run has of calls whose last try is still on record, as out or as lost, answered since `since`: no
 * limit counts them as settled yet. Read it after the journal's sum, so that nothing counts twice.
 */
export async function creditsNotSettled(
  reads: Pick<CallReads, 'journal'>,
  runNo: number,
  { tries, since = 0 }: { readonly tries: readonly LeftTry[]; readonly since?: number },
): Promise<number> {
  const open = tries.filter(({ credits, lost, lostBefore }) => credits > 0 || lost > lostBefore);
  const entries = await entriesOf(reads, runNo, open);
  return entries.reduce((sum, entry) => sum + (hasEnded(entry) && entry.at >= since ? entry.credits : 0), 0);
}

function endOf(entry: CallEntry): RecordedTry {
  if (!hasEnded(entry)) return { end: 'failed' };
  return entry.source === 'live' ? { end: 'ended', credits: entry.credits } : { end: 'elsewhere' };
}

/** A failure that cost nothing may be older than the try that is on record. */
function hasEnded({ error, receiptId, credits }: CallEntry): boolean {
  return error === null || (receiptId !== null && credits > 0);
}

async function entriesOf(
  reads: Pick<CallReads, 'journal'>,
  runNo: number,
  tries: readonly OpenTry[],
): Promise<readonly CallEntry[]> {
  const open = new Set(tries.map(({ callId }) => callId));
  const found: CallEntry[] = [];
  for (const [datasetNo, of] of Map.groupBy(tries, ({ place }) => place.datasetNo)) {
    const ordinals = [...new Set(of.map(({ place }) => place.ordinal))];
    for (const entries of (await reads.journal(runNo, datasetNo, ordinals)).values())
      found.push(...entries.filter(({ callId }) => open.has(callId)));
  }
  return found;
}
