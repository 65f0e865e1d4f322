import type { DatasetProgress } from '../dataset/index.ts';
import type { AccountSnapshot } from '../governor/index.ts';
import type { ToolCounts } from '../observe/index.ts';
import type { AttemptView } from './attempt-context.ts';

/** The counters of one dataset, and what each of its legs has cost. */
export interface RunDatasetProgress extends Omit<DatasetProgress, 'legs'> {
  readonly legs: readonly (DatasetProgress['legs'][number] & { readonly credits: number })[];
}

/** How a run stands, from what was recorded: the data of a 'progress' event. */
export interface RunProgress {
  readonly datasets: readonly RunDatasetProgress[];
  readonly calls: Readonly<Record<string, Readonly<ToolCounts>>>;
  readonly credits: { readonly reserved: number; readonly settled: number; readonly limit: number | null };
  /** The accounts that the run uses, with what the run itself waits for there. */
  readonly accounts: readonly AccountSnapshot[];
}

const EVERY_MS = 1000;
/** So many of these between two records of where the time went. */
const TIMINGS_TICKS = 10;

export function progressOf({ context, counters }: AttemptView): RunProgress {
  const { reserved, settled, limit } = context.calls.budget.snapshot();
  return {
    datasets: context.datasets.progress().map((dataset) => ({
      ...dataset,
      legs: dataset.legs.map((leg) => ({ ...leg, credits: counters.creditsAt(dataset.datasetNo, leg.path) })),
    })),
    calls: Object.fromEntries(counters.snapshot()),
    credits: { reserved, settled, limit },
    accounts: accountsOf(context, counters),
  };
}

/** Accounts of the tools that the run has called, or waits to call. */
function accountsOf(
  { run, deps }: AttemptView['context'],
  counters: AttemptView['counters'],
): readonly AccountSnapshot[] {
  const { catalogue, governor } = deps.calls;
  const tools = [...counters.snapshot().keys()].filter((tool) => catalogue.has(tool));
  const used = new Set(tools.map((tool) => catalogue.get(tool).account.key));
  return governor.snapshot().flatMap((account) => {
    const runs = account.runs.filter((wait) => wait.runId === run.id);
    return used.has(account.account) || runs.length > 0 ? [{ ...account, runs }] : [];
  });
}

/** Emits a 'progress' event every second while something changes, and once when it is stopped. */
export function startProgress(view: AttemptView): () => void {
  const { context } = view;
  let cancel = (): void => {};
  let waits = '[]';
  let ticks = 0;
  const emit = (): void => {
    const progress = progressOf(view);
    const before = waits;
    waits = JSON.stringify(progress.accounts.map(({ runs }) => runs.map(({ reason, until }) => [reason, until])));
    if (context.datasets.takeChanged() || waits !== before)
      context.emit({ type: 'progress', level: 'debug', message: 'progress', data: JSON.stringify(progress) });
  };
  const schedule = (): void => {
    cancel = context.deps.clock.after(
      EVERY_MS,
      () => {
        emit();
        if (++ticks % TIMINGS_TICKS === 0) tellTimings(view);
        schedule();
      },
      { keepAlive: false },
    );
  };
  schedule();
  return () => {
    cancel();
    emit();
    tellTimings(view);
  };
}

/** Where the time of calls went since it was told last: kept with the run, so that a slow or killed one explains itself. */
function tellTimings({ context, timings }: AttemptView): void {
  const taken = timings.take();
  if (taken === undefined) return;
  context.emit({
    type: 'timings',
    level: 'debug',
    message: 'Where the time of calls went.',
    data: JSON.stringify(taken),
  });
}
