import { runReport } from '../../report/index.ts';
import { existingRun, reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { withWorkspace } from '../with-workspace.ts';

/** `runs cancel`: ends a run that nobody works on, or asks whoever does. */
export async function runsCancel(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal, args } = call;
  return withWorkspace(call, async (workspace) => {
    const { id } = await existingRun(workspace, args[0] ?? '');
    const done = await workspace.engine.cancel(id);
    if (terminal.json) {
      const report = await runReport(reportSource(workspace), await existingRun(workspace, id));
      await terminal.document({ cancel: done, ...report });
    } else if (done === 'asked') {
      terminal.note(`The process that works on ${id} was asked to cancel it, which takes some seconds.`);
      terminal.note(`  → callsheet runs watch ${id}`);
    } else terminal.note(`${id} is cancelled; finished rows stay.`);
    return 0;
  });
}
