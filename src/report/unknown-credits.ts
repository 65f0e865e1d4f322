import { type RunRecord, recordedTries } from '../store/index.ts';
import type { Doubts } from './doubts.ts';
import type { ReportSource } from './reads.ts';
import { statusIn } from './run-json.ts';

/**
 * What a run may have spent that is not settled, each call once: what is in doubt, what was bought and not settled, tries whose
 * answers were lost, and, once nobody works on the run, those that were out when its process died.
 */
export async function unknownCredits(source: ReportSource, run: RunRecord, doubts: Doubts): Promise<number> {
  const most = new Map(doubts.credits);
  const tries = source.openTries(run.id);
  const isRunning = statusIn(source, run) === 'running';
  const out = isRunning ? [] : tries.filter(({ credits }) => credits > 0);
  const recorded = await recordedTries(source.calls, run.no, out);
  for (const { callId, credits, lost } of tries) {
    const mayCost = lost + (isRunning || recorded.get(callId) === 'ended' ? 0 : credits);
    // What was done is settled once the run goes on; until then the limits count it.
    if (!doubts.resolved.has(callId)) most.set(callId, Math.max(mayCost, most.get(callId) ?? 0));
  }
  return [...most.values()].reduce((sum, credits) => sum + credits, 0);
}
