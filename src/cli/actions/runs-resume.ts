import { resolve } from 'node:path';
import { assertOutputPath, inputPathsOf } from '../../report/index.ts';
import {
  assertResumable,
  modeRefusal,
  type RunRecord,
  reportSource,
  resumeOptions,
  type Workspace,
} from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { withRun } from '../with-run.ts';
import { type OutputFlags, workOn } from '../work-on.ts';

export interface ResumeFlags extends OutputFlags {
  readonly maxCredits?: number;
  readonly concurrency?: number;
  readonly retryFailed?: boolean;
  readonly code?: string;
  readonly resend?: boolean;
  readonly fixtures?: string;
  readonly yes?: boolean;
  readonly progress: boolean;
}

/** `runs resume`: the same run goes on, by what is recorded. */
export async function runsResume(call: Invocation<ResumeFlags>): Promise<number> {
  const { terminal, flags } = call;
  const work = async (workspace: Workspace, run: RunRecord): Promise<number> => {
    const refusal = modeRefusal(run, workspace.mode);
    if (refusal !== undefined) throw refusal;
    const source = reportSource(workspace);
    const { maxCredits, concurrency, retryFailed = false, resend } = flags;
    const code = flags.code === undefined ? undefined : { play: flags.code, cwd: terminal.cwd };
    await assertResumable(source, run, retryFailed);
    if (flags.output !== undefined)
      await assertOutputPath(resolve(terminal.cwd, flags.output), await inputPathsOf(source, run));
    await resumeOptions(workspace, run, { maxCredits, concurrency, retryFailed, code, resend });
    return workOn(terminal, workspace, { run, output: flags, progress: flags.progress });
  };
  return withRun(call, work, { fixtures: flags.fixtures });
}
