import type { DatasetProgress } from '../dataset/index.ts';
import type { ToolCounts } from '../observe/index.ts';
import type { AttemptView } from './attempt-context.ts';

/** How a run stands, from what was recorded: the data of a 'progress' event. */
export interface RunProgress {
  readonly datasets: readonly DatasetProgress[];
  readonly calls: Readonly<Record<string, Readonly<ToolCounts>>>;
  readonly credits: { readonly reserved: number; readonly settled: number; readonly limit: number | null };
}

const EVERY_MS = 1000;

export function progressOf({ context, counters }: AttemptView): RunProgress {
  const { reserved, settled, limit } = context.calls.budget.snapshot();
  return {
    datasets: context.datasets.progress(),
    calls: Object.fromEntries(counters.snapshot()),
    credits: { reserved, settled, limit },
  };
}

/** Emits a 'progress' event every second while something changes, and once when it is stopped. */
export function startProgress(view: AttemptView): () => void {
  const { context } = view;
  let cancel = (): void => {};
  const emit = (): void => {
    if (context.datasets.takeChanged())
      context.emit({ type: 'progress', level: 'debug', message: 'progress', data: JSON.stringify(progressOf(view)) });
  };
  const schedule = (): void => {
    cancel = context.deps.clock.after(
      EVERY_MS,
      () => {
        emit();
        schedule();
      },
      { keepAlive: false },
    );
  };
  schedule();
  return () => {
    cancel();
    emit();
  };
}
