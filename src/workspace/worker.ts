import { Worker, type WorkerOptions } from '../engine/index.ts';
import type { Workspace } from './open.ts';
import { modeRefusal } from './resume.ts';

/** A worker of this workspace; nothing is taken before `work` is called. */
export function newWorker(workspace: Workspace, options: Omit<WorkerOptions, 'refuses'>): Worker {
  const { engine, store, clock, mode } = workspace;
  const { runs, report } = store;
  return new Worker({ engine, runs, report, clock }, { ...options, refuses: (run) => modeRefusal(run, mode) });
}
