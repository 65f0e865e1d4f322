import { Journal, RecordedWrites, Relatives, runsAbove, SourceRuns } from '../call/index.ts';
import type { RunRecord } from '../store/index.ts';
import { type AttemptContext, isReplay, type RunDeps } from './attempt-context.ts';
import { Boundaries } from './boundary.ts';
import { ParkedRows } from './parked.ts';
import type { RunOptions } from './run-options.ts';
import type { OpenBudget } from './tree-budget.ts';
import { Waits } from './waits.ts';

/** What an attempt knows of the run's earlier ones, and what it may spend. */
export interface AttemptState extends Pick<AttemptContext, 'boundaries' | 'waits' | 'parked'> {
  readonly journal: Journal;
  readonly source: Awaited<ReturnType<typeof SourceRuns.open>>;
  readonly relatives: Relatives;
  readonly recorded: RecordedWrites | undefined;
  readonly budget: OpenBudget;
}

/** Reads what outlived earlier attempts outside rows; what rows need is read with them. */
export async function openState(
  deps: RunDeps,
  { run, options }: Pick<AttemptContext, 'run' | 'options'>,
): Promise<AttemptState> {
  const { store, committer, clock } = deps;
  const journal = new Journal(store.calls, run.no);
  const boundaries = new Boundaries(store.runs, committer, run.no);
  const waits = new Waits(store.runs, committer, run.no);
  const parked = new ParkedRows(store.runs, clock, run.no);
  await parked.open();
  if (isReplay(run))
    await Promise.all([
      journal.open({ retryFailed: options.retryFailed === true }),
      boundaries.load(0, [0]),
      waits.load(0, [0]),
    ]);
  const source = await SourceRuns.open(store, run);
  const budget = await deps.budgets.open(store, run);
  journal.owe(budget.budget, (tool) => deps.budgets.maxCreditsOf(tool));
  const relatives = await Relatives.open(store, run);
  const recorded = await recordedWrites(deps, { run, options, source, relatives });
  return { journal, boundaries, waits, parked, source, relatives, recorded, budget };
}

/** Where the code is not that which writes of the family were made with, they may be asked for from other places. */
async function recordedWrites(
  { store, clock }: RunDeps,
  of: Pick<AttemptContext, 'run' | 'options'> & Pick<AttemptState, 'source' | 'relatives'>,
): Promise<RecordedWrites | undefined> {
  const { run, options, source, relatives } = of;
  const others = await relatives.others(clock.monotonic());
  const numbers = (runs: readonly RunRecord[]): readonly number[] => runs.map(({ no }) => no);
  if (options.codeChanged === true) {
    const own = [run.no, ...(source?.runNos ?? []), ...numbers(others)];
    return RecordedWrites.open(store.calls, { own, above: await runsAbove(store.runs, run) });
  }
  const changed = others.filter((other) => (JSON.parse(other.options) as RunOptions).codeChanged === true);
  return changed.length === 0 ? undefined : RecordedWrites.open(store.calls, { own: numbers(changed), above: [] });
}
