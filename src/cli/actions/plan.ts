import { planRun } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { planLines } from '../plan-text.ts';
import { type InputFlags, inputOf } from '../run-input.ts';
import { withWorkspace } from '../with-workspace.ts';

export interface PlanFlags extends InputFlags {
  readonly limit?: number;
  readonly encoding?: string;
}

/** `plan`: what a run with this input would call and cost. */
export async function plan(call: Invocation<PlanFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  const input = await inputOf(terminal, flags);
  return withWorkspace(call, async (workspace) => {
    const planned = await planRun(workspace, {
      play: args[0] ?? '',
      cwd: terminal.cwd,
      input,
      limit: flags.limit,
      encoding: flags.encoding,
    });
    if (terminal.json) await terminal.document(planned);
    else for (const line of planLines(planned)) await terminal.line(line);
    return 0;
  });
}
