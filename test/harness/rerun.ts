import { newRerun, prepareRerun, type RerunOrder, type RunRecord, type Workspace } from '../../src/workspace/index.ts';
import { attempt, type EndedRun } from './workspace.ts';

export type TestRerun = Omit<Partial<RerunOrder>, 'cwd'>;

/** A rerun that nobody has begun. */
export async function queuedRerun(workspace: Workspace, source: RunRecord, order: TestRerun = {}): Promise<RunRecord> {
  const cwd = workspace.paths.dir;
  return newRerun(workspace, await prepareRerun(workspace, source, { ...order, cwd }));
}

/** A rerun, to the end of its first attempt. */
export async function rerun(workspace: Workspace, source: RunRecord, order: TestRerun = {}): Promise<EndedRun> {
  return attempt(workspace, (await queuedRerun(workspace, source, order)).id);
}
