import { type RunRecord, unrecordedTries } from '../store/index.ts';
import type { ReportSource } from './reads.ts';
import { statusIn } from './run-json.ts';

/**
 * What a run may have spent by tries whose answers nobody has: those that were lost, and, once nobody works on the run, those
 * that were out when its process died. (A write in doubt is none of them: it waits for somebody's word.)
 */
export async function lostCredits(source: ReportSource, run: RunRecord): Promise<number> {
  const tries = source.openTries(run.id);
  if (tries.length === 0) return 0;
  const out = statusIn(source, run) === 'running' ? [] : tries.filter(({ credits }) => credits > 0);
  const unrecorded = await unrecordedTries(source.calls, run.no, out);
  return tries.reduce((sum, { callId, credits, lost }) => sum + lost + (unrecorded.has(callId) ? credits : 0), 0);
}
