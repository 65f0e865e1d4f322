import {
  type Bill,
  connectedRuns,
  Journal,
  OpenTries,
  RecordedWrites,
  Relatives,
  SourceRuns,
  startersOf,
} from '../call/index.ts';
import type { Budget } from '../governor/index.ts';
import { type RecordedTry, type RunRecord, recordedTries } from '../store/index.ts';
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
  readonly tries: OpenTries;
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
  const tries = new OpenTries(deps.calls.tryLog, { id: run.id, rootId: run.rootRunId });
  if (run.attempt > 1)
    await tries.open(budget.budget, async (left) => {
      const recorded = await recordedTries(store.calls, run.no, left);
      const isAgain = ([, { end }]: readonly [string, RecordedTry]): boolean =>
        end === 'failed' && options.retryFailed === true;
      return new Map([...recorded].filter((each) => !isAgain(each)));
    });
  journal.owe((callId, tools) => tries.billOf(callId) ?? owedFor(deps, budget.budget, tools));
  const relatives = await Relatives.open(store, run);
  const recorded = await recordedWrites(deps, { run, options, relatives });
  return { journal, boundaries, waits, parked, source, relatives, recorded, budget, tries };
}

/** What was bought by these tools and is on no record of tries, at the most that it may cost. */
function owedFor({ budgets }: RunDeps, budget: Budget, tools: readonly string[]): Bill | undefined {
  const most = Math.max(...tools.map((tool) => budgets.maxCreditsOf(tool)));
  if (most === 0) return undefined;
  const owed = budget.owe(most);
  return { charge: (credits) => owed.settle(credits), leave: () => owed.release() };
}

/** Where the code is not that which others have made their writes with, these may be asked for from other places. */
async function recordedWrites(
  { store }: RunDeps,
  { run, options, relatives }: Pick<AttemptContext, 'run' | 'options'> & Pick<AttemptState, 'relatives'>,
): Promise<RecordedWrites | undefined> {
  const family = await relatives.all();
  if (options.codeChanged === true) {
    const elsewhere = await connectedRuns(store.runs, { run, family });
    return RecordedWrites.open(store.calls, { own: family, elsewhere });
  }
  const above = await startersOf(store.runs, run);
  const own = family.filter(isChanged);
  if (own.length === 0 && !(await isAnyChanged(store, above))) return undefined;
  const elsewhere = (await connectedRuns(store.runs, { run, family })).filter(isChanged);
  return RecordedWrites.open(store.calls, { own, elsewhere });
}

/** Whether any of the runs, or a rerun of it, went on under other code. */
async function isAnyChanged(store: RunDeps['store'], runs: readonly RunRecord[]): Promise<boolean> {
  for (const run of runs) if ((await (await Relatives.open(store, run)).all()).some(isChanged)) return true;
  return false;
}

function isChanged({ options }: RunRecord): boolean {
  return (JSON.parse(options) as RunOptions).codeChanged === true;
}
