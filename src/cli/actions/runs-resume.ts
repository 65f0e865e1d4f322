import { resolve } from 'node:path';
import { assertOutputPath, inputPathsOf } from '../../report/index.ts';
import { assertResumable, existingRun, reportSource, resumeOptions } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { withWorkspace } from '../with-workspace.ts';
import { type OutputFlags, workOn } from '../work-on.ts';

export interface ResumeFlags extends OutputFlags {
  readonly maxCredits?: number;
  readonly concurrency?: number;
  readonly retryFailed?: boolean;
  readonly yes?: boolean;
  readonly progress: boolean;
}

/** `runs resume`: the same run goes on, by what is recorded. */
export async function runsResume(call: Invocation<ResumeFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  return withWorkspace(call, async (workspace) => {
    const source = reportSource(workspace);
    const run = await existingRun(workspace, args[0] ?? '');
    const { maxCredits, concurrency, retryFailed = false } = flags;
    await assertResumable(source, run, retryFailed);
    if (flags.output !== undefined)
      await assertOutputPath(resolve(terminal.cwd, flags.output), await inputPathsOf(source, run));
    await resumeOptions(workspace, run, { maxCredits, concurrency, retryFailed });
    return workOn(terminal, workspace, { run, output: flags, progress: flags.progress });
  });
}
