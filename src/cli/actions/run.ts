import { resolve } from 'node:path';
import { assertOutputPath } from '../../report/index.ts';
import { assertOutputDataset, newRun, planRun, type RunOrder, type Workspace } from '../../workspace/index.ts';
import { askBeforeSpending, confirmAbove } from '../confirm.ts';
import type { Invocation } from '../invocation.ts';
import { filesNamedIn, type InputFlags, inputOf } from '../run-input.ts';
import { withWorkspace } from '../with-workspace.ts';
import { finishRun, type OutputFlags, workOn } from '../work-on.ts';

export interface RunFlags extends InputFlags, OutputFlags {
  readonly limit?: number;
  readonly encoding?: string;
  readonly maxCredits?: number;
  readonly concurrency?: number;
  readonly refresh?: 'all' | readonly string[];
  readonly fixtures?: string;
  readonly record?: string;
  readonly idempotencyKey?: string;
  readonly yes?: boolean;
  readonly progress: boolean;
  readonly detach?: boolean;
}

/** `run`: a new run, watched until it ends. */
export async function run(call: Invocation<RunFlags>): Promise<number> {
  const { terminal, flags, args } = call;
  const { cwd } = terminal;
  const input = await inputOf(terminal, flags);
  const order: RunOrder = {
    play: args[0] ?? '',
    cwd,
    input,
    maxCredits: flags.maxCredits,
    concurrency: flags.concurrency,
    limit: flags.limit,
    encoding: flags.encoding,
    refresh: flags.refresh,
    idempotencyKey: flags.idempotencyKey,
    detached: flags.detach,
  };
  if (flags.output !== undefined) await assertOutputPath(resolve(cwd, flags.output), filesNamedIn(input, cwd));
  return withWorkspace(call, (workspace) => runOrder(call, workspace, order), {
    fixtures: flags.fixtures,
    record: flags.record,
  });
}

async function runOrder(call: Invocation<RunFlags>, workspace: Workspace, order: RunOrder): Promise<number> {
  const { terminal, flags } = call;
  if (flags.output !== undefined) await assertOutputDataset(workspace, { ...order, dataset: flags.dataset });
  if (mayCost(flags, workspace))
    await askBeforeSpending(terminal, {
      // Where no tool costs anything there is nothing to plan.
      most: async () =>
        workspace.catalogue.list().some((tool) => tool.maxCredits > 0) ? planRun(workspace, order) : 0,
      confirmAbove: confirmAbove(workspace.config),
    });
  const { run: made, existed } = await newRun(workspace, order);
  if (existed && ['completed', 'failed', 'cancelled'].includes(made.status)) {
    terminal.note(`The run of this idempotency key is ${made.status} already.`);
    return finishRun(terminal, workspace, { runId: made.id, output: flags });
  }
  if (flags.detach === true) {
    terminal.note(`The run ${made.id} ${existed ? 'was made before' : 'is made'}; callsheet worker works on it.`);
    return finishRun(terminal, workspace, { runId: made.id, output: flags });
  }
  return workOn(terminal, workspace, { run: made, output: flags, progress: flags.progress });
}

/** A limit, a yes, recorded answers, or tools that are free: there is nothing to ask, and so nothing to plan. */
function mayCost({ yes, maxCredits, fixtures }: RunFlags, { catalogue }: Workspace): boolean {
  if (yes === true || maxCredits !== undefined || fixtures !== undefined) return false;
  return catalogue.list().some((tool) => tool.maxCredits > 0);
}
