import { existingRun, type OpenOptions, type RunRecord, type Workspace } from '../workspace/index.ts';
import { aboutRun } from './about-run.ts';
import type { Invocation } from './invocation.ts';
import { withWorkspace } from './with-workspace.ts';

/** Opens the workspace of a command whose first argument names a run. What goes wrong then names that run. */
export function withRun<Result>(
  call: Pick<Invocation<unknown>, 'terminal' | 'dir' | 'args'>,
  act: (workspace: Workspace, run: RunRecord) => Promise<Result>,
  options: Partial<OpenOptions> = {},
): Promise<Result> {
  return withWorkspace(
    call,
    async (workspace) => {
      const run = await existingRun(workspace, call.args[0] ?? '');
      try {
        return await act(workspace, run);
      } catch (error) {
        throw aboutRun(error, run.id);
      }
    },
    options,
  );
}
