import type { Fence } from '../../scope/index.ts';
import { runMissing, runNumberMissing } from '../conflicts.ts';
import type { Instant, RunRecord } from '../records.ts';
import type { MemoryData } from './data.ts';
import type { Undo } from './undo.ts';

/** Throws StoreConflict 'run-missing'. */
export function fenced(data: MemoryData, fence: Fence): RunRecord {
  const run = data.run(fence.runNo);
  if (run === undefined) throw runNumberMissing(fence.runNo);
  return run;
}

/** Throws StoreConflict 'run-missing'. */
export function existing(data: MemoryData, id: string): RunRecord {
  const run = data.runById(id);
  if (run === undefined) throw runMissing(id);
  return run;
}

export function change(data: MemoryData, undo: Undo, to: RunRecord): void {
  const before = data.run(to.no);
  undo.push(() => {
    if (before !== undefined) data.runs[to.no - 1] = before;
  });
  data.runs[to.no - 1] = to;
}

/** Makes a run that is waiting due at `at`, unless it is due earlier. */
export function wakeRun(data: MemoryData, undo: Undo, of: { readonly runNo: number; readonly at: Instant }): void {
  const run = data.run(of.runNo);
  if (run?.status === 'waiting') change(data, undo, { ...run, wakeAt: Math.min(run.wakeAt ?? of.at, of.at) });
}
