import { runReport } from '../../report/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import { existingRun, type RunRecord, reportSource, type Workspace } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { withRecordedRun } from '../with-run.ts';

export interface CancelFlags {
  readonly tree?: boolean;
}

/** What became of the wish to cancel a run: ended, or whoever works on it was asked; or it was over before. */
type Cancelled = 'asked' | 'cancelled' | 'finished';

/** `runs cancel`: ends a run that nobody works on, or asks whoever does; with `--tree` also the runs that it started. */
export async function runsCancel(call: Invocation<CancelFlags>): Promise<number> {
  const { terminal, flags } = call;
  return withRecordedRun(call, async (workspace, run) => {
    const done =
      flags.tree === true
        ? await cancelTree(workspace, run)
        : new Map<string, Cancelled>([[run.id, await cancelledNow(workspace, run.id)]]);
    if (terminal.json) {
      const report = await runReport(reportSource(workspace), await existingRun(workspace, run.id));
      const tree = [...done].map(([id, cancel]) => ({ run: id, cancel }));
      await terminal.document({ cancel: done.get(run.id), ...(flags.tree === true && { tree }), ...report });
      return 0;
    }
    for (const [id, what] of done) for (const line of cancelLines(id, what)) terminal.note(line);
    return 0;
  });
}

function cancelLines(id: string, what: Cancelled): string[] {
  if (what === 'cancelled') return [`${id} is cancelled; finished rows stay.`];
  if (what === 'finished') return [`${id} was over before.`];
  return [
    `The process that works on ${id} was asked to cancel it: no new calls within about a second; calls in flight end first.`,
    `  → callsheet runs watch ${id}`,
  ];
}

/** From the top down, so that nothing is left that starts more; those that were started meanwhile are cancelled, too. */
async function cancelTree(workspace: Workspace, root: RunRecord): Promise<ReadonlyMap<string, Cancelled>> {
  const done = new Map<string, Cancelled>([[root.id, await cancelled(workspace, root.id)]]);
  for (let before = 0; before < done.size; ) {
    before = done.size;
    for (const child of await workspace.store.runs.childrenOf(root.id))
      if (!done.has(child.id)) done.set(child.id, await cancelled(workspace, child.id));
  }
  return done;
}

/** Throws RUN_FINISHED where the run is over, since then nothing was cancelled now. */
async function cancelledNow(workspace: Workspace, runId: string): Promise<Cancelled> {
  const done = await cancelled(workspace, runId);
  if (done !== 'finished') return done;
  const { status } = await existingRun(workspace, runId);
  throw new CallsheetError('RUN_FINISHED', `The run ${runId} is ${status} already; there is nothing to cancel.`, {
    details: { runId, status },
    next: [`callsheet runs show ${runId}`],
  });
}

async function cancelled(workspace: Workspace, runId: string): Promise<Cancelled> {
  try {
    return await workspace.engine.cancel(runId);
  } catch (error) {
    if (error instanceof CallsheetError && error.code === 'RUN_NOT_RESUMABLE') return 'finished';
    throw error;
  }
}
