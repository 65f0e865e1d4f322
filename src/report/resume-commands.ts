import type { RunRecord } from '../store/index.ts';
import type { ShownStatus } from './run-json.ts';

/**
 * What makes a run take up what has come of a write that was in doubt. A completed one without failed rows has nothing left
 * to do itself; a run that repeats it, with all its answers, does.
 */
export function resumeCommands({ id }: RunRecord, status: ShownStatus, failedRows: number): string[] {
  if (status === 'cancelled') return [`callsheet runs rerun ${id} --failed`];
  if (status === 'completed' && failedRows === 0) return [`callsheet runs rerun ${id}`];
  const resume = `callsheet runs resume ${id} --retry-failed`;
  return status === 'running' ? [`callsheet runs watch ${id}`, resume] : [resume];
}
