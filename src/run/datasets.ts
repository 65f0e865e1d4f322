import { type DatasetHost, type DatasetProgress, RunDatasets } from '../dataset/index.ts';
import type { Scope } from '../scope/index.ts';
import type { RowCtx } from '../sdk/index.ts';
import type { AttemptContext, AttemptDatasets } from './attempt-context.ts';
import { placeOf } from './outcome.ts';

/**
 * The datasets of one attempt.
 *
 * Owns: the newest counters of each, for the live view and the record.
 * Does not own: rows (dataset room) or calls (call room); it lends the one to the other.
 */
export class Datasets implements AttemptDatasets {
  readonly #context: () => AttemptContext;
  readonly #rowCtx: (context: AttemptContext, scope: Scope) => RowCtx;
  readonly #progress = new Map<string, () => DatasetProgress>();
  readonly #registry = new RunDatasets();
  readonly #running = new Set<Promise<unknown>>();
  #changed = false;

  constructor(context: () => AttemptContext, rowCtx: (context: AttemptContext, scope: Scope) => RowCtx) {
    this.#context = context;
    this.#rowCtx = rowCtx;
  }

  /** True once after something changed. */
  takeChanged(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  /** Resolves when every dataset that was started has settled, however. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  progress(): readonly DatasetProgress[] {
    return [...this.#progress.values()].map((snapshot) => snapshot());
  }

  host(scope: Scope): DatasetHost {
    const context = this.#context();
    const { deps, run, ending, calls, boundaries, options } = context;
    return {
      runNo: run.no,
      play: run.play,
      fence: scope.fence,
      reads: deps.store.datasets,
      committer: deps.committer,
      clock: deps.clock,
      filesDir: deps.filesDir,
      scope,
      concurrency: options.concurrency ?? deps.concurrency,
      maxBytesInFlight: deps.maxBytesInFlight,
      replay: context.attempt > 1,
      planning: context.planning !== undefined,
      retryFailed: options.retryFailed === true,
      datasets: this.#registry,
      started: (running) => {
        this.#running.add(running);
        const ended = (): void => {
          this.#running.delete(running);
        };
        running.then(ended, ended);
      },
      rowCtx: (at) => this.#rowCtx(context, at),
      openRow: (suspended) => ending.openRow(suspended),
      closeRow: (gate) => ending.closeRow(gate),
      admitting: () => ending.going,
      fatal: () => ending.reason?.kind === 'fatal',
      prepareRows: async (datasetNo, ordinals) => {
        await Promise.all([
          calls.journal.load(datasetNo, ordinals, { retryFailed: options.retryFailed === true }),
          boundaries.load(datasetNo, ordinals),
        ]);
      },
      raiseFatal: (error) => ending.fatal(error),
      takeRowCredits: (datasetNo, ordinal) => {
        calls.journal.forget({ datasetNo, ordinal });
        boundaries.forget(datasetNo, ordinal);
        return calls.settlements.take(datasetNo, ordinal);
      },
      placeOf,
      event: (event) => context.emit(event),
      progress: (snapshot) => {
        this.#changed = true;
        this.#progress.set(snapshot().key, snapshot);
      },
    };
  }
}
