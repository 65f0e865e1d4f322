import { type OpenOptions, openWorkspace, type Workspace } from '../workspace/index.ts';
import type { Invocation } from './invocation.ts';

/** Opens the workspace of a command and closes it again, whatever becomes of the command. */
export async function withWorkspace<Result>(
  call: Pick<Invocation<unknown>, 'terminal' | 'dir'>,
  act: (workspace: Workspace) => Promise<Result>,
  options: Partial<OpenOptions> = {},
): Promise<Result> {
  const { cwd, env } = call.terminal;
  const workspace = await openWorkspace({ cwd, env, dir: call.dir, ...options });
  let result: Result;
  try {
    result = await act(workspace);
  } catch (error) {
    // What went wrong first is what people have to know.
    await workspace.close().catch(() => {});
    throw error;
  }
  await workspace.close();
  return result;
}
