import { Journal, SourceRuns } from '../call/index.ts';
import { type AttemptContext, isReplay, type RunDeps } from './attempt-context.ts';
import { Boundaries } from './boundary.ts';
import { ParkedRows } from './parked.ts';
import type { OpenBudget } from './tree-budget.ts';
import { Waits } from './waits.ts';

/** What an attempt knows of the run's earlier ones, and what it may spend. */
export interface AttemptState extends Pick<AttemptContext, 'boundaries' | 'waits' | 'parked'> {
  readonly journal: Journal;
  readonly source: Awaited<ReturnType<typeof SourceRuns.open>>;
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
  return { journal, boundaries, waits, parked, source, budget: await deps.budgets.open(store, run) };
}
