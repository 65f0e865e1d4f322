import { existingRun, type OpenOptions, type RunRecord, type Workspace } from '../workspace/index.ts';
import { aboutRun } from './about-run.ts';
import type { Invocation } from './invocation.ts';
import { withRecords, withWorkspace } from './with-workspace.ts';

type Call = Pick<Invocation<unknown>, 'terminal' | 'dir' | 'args'>;
type Act<Result> = (workspace: Workspace, run: RunRecord) => Promise<Result>;

/** Opens the workspace of a command whose first argument names a run. What goes wrong then names that run. */
export function withRun<Result>(call: Call, act: Act<Result>, options: Partial<OpenOptions> = {}): Promise<Result> {
  return withWorkspace(call, (workspace) => actOnRun(workspace, call, act), options);
}

/** The same for what runs and plans nothing: a broken config or tool does not keep it from its run. */
export function withRecordedRun<Result>(call: Call, act: Act<Result>): Promise<Result> {
  return withRecords(call, (workspace) => actOnRun(workspace, call, act));
}

async function actOnRun<Result>(workspace: Workspace, { args }: Call, act: Act<Result>): Promise<Result> {
  const run = await existingRun(workspace, args[0] ?? '');
  try {
    return await act(workspace, run);
  } catch (error) {
    throw aboutRun(error, run.id);
  }
}
