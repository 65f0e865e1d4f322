import { type RunReport, runReport } from '../../src/report/index.ts';
import {
  existingRun,
  newRerun,
  prepareRerun,
  type RerunOrder,
  type RunRecord,
  reportSource,
  type Workspace,
} from '../../src/workspace/index.ts';
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

/** Where the answers of a run's calls came from. */
export async function callsOf(workspace: Workspace, run: RunRecord): Promise<RunReport['calls']> {
  return (await runReport(reportSource(workspace), await existingRun(workspace, run.id))).calls;
}

/** Five rows: row n calls `acme.find`, then `acme.send` with what was found. */
export const FIND_AND_SEND = `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: 5 }, (_, n) => ({ n })))
    .withColumn('found', async (row, ctx) => (await ctx.tools.execute({ id: 'f', tool: 'acme.find', input: { n: row.n } })).data)
    .withColumn('sent', async (row, ctx) => (await ctx.tools.execute({ id: 's', tool: 'acme.send', input: { to: row.found } })).data)
    .run({ key: 'n', concurrency: 1 });
  return (await rows.materialize()).map((row) => row.sent ?? null);
}`;
