import type { CallsheetError } from '../sdk/index.ts';
import { type OpenOptions, openWorkspace, type Workspace } from '../workspace/index.ts';
import { failureLines, failureOf } from './failure.ts';
import type { Invocation } from './invocation.ts';
import type { Terminal } from './terminal.ts';

type Call = Pick<Invocation<unknown>, 'terminal' | 'dir'>;

/** Opens the workspace of a command and closes it again, whatever becomes of the command. */
export async function withWorkspace<Result>(
  call: Call,
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

/**
 * The same for what runs and plans nothing, but looks at what is recorded, or ends it: that works though the config or a
 * tool is broken, and says that it is.
 */
export function withRecords<Result>(call: Call, act: (workspace: Workspace) => Promise<Result>): Promise<Result> {
  return withWorkspace(call, act, { onUnusable: (error) => warn(call.terminal, error) });
}

function warn(terminal: Terminal, error: CallsheetError): void {
  const [first, ...steps] = failureLines(failureOf(error));
  const { file } = error.details;
  const where = typeof file === 'string' && !error.message.includes(file) ? ` (${file})` : '';
  terminal.note(`warning: ${first}${where}`);
  for (const step of steps) terminal.note(step);
  terminal.note(
    'This command goes on without the config and the tools: what they declare, such as prices, is not there.',
  );
}
