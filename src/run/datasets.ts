import { type DatasetHost, type DatasetProgress, RunDatasets } from '../dataset/index.ts';
import type { Scope } from '../scope/index.ts';
import type { RowCtx } from '../sdk/index.ts';
import { type AttemptContext, type AttemptDatasets, isReplay } from './attempt-context.ts';
import { STEP_GRACE_MS } from './ending.ts';
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
  readonly #progress = new Map<object, () => DatasetProgress>();
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
    const { deps, run, ending, options, suspension } = context;
    // Stands for this dataset, whatever it is called.
    const dataset = {};
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
      replay: isReplay(run),
      codeChanged: options.codeChanged === true,
      beginsAt: beginning(context),
      planning: context.planning !== undefined,
      retryFailed: options.retryFailed === true,
      datasets: this.#registry,
      started: (running) => {
        this.#running.add(running);
        suspension.busy(dataset, true);
        const ended = (): void => {
          this.#running.delete(running);
          scope.gate.progressed();
          // What the play does with it comes first.
          setImmediate(() => suspension.busy(dataset, false));
        };
        running.then(ended, ended);
      },
      crowd: (datasetNo, grow) => context.calls.batches.crowds.open(datasetNo, grow),
      waiting: rowWaiting(context, scope, dataset),
      rowCtx: (at) => this.#rowCtx(context, at),
      openRow: (suspended) => ending.openRow(suspended),
      closeRow: (gate) => ending.closeRow(gate),
      admitting: () => ending.going,
      fatal: () => ending.reason?.kind === 'fatal',
      ...rowRecords(context),
      raiseFatal: (error) => ending.fatal(error),
      placeOf,
      event: (event) => context.emit(event),
      progress: (snapshot) => {
        this.#changed = true;
        this.#progress.set(dataset, snapshot);
      },
    };
  }
}

/** Rows wait through the run: its waits, what is parked, and when all of it is suspended. */
function rowWaiting(context: AttemptContext, scope: Scope, dataset: object): DatasetHost['waiting'] {
  const { deps, ending, waits, suspension, parked } = context;
  return {
    halt: ending.halt,
    stepGraceMs: STEP_GRACE_MS,
    busy: (isBusy) => suspension.busy(dataset, isBusy),
    rests: () => suspension.blocked(scope, false),
    still: async (datasetNo, ordinals) => {
      const still = await waits.stillOpen(datasetNo, ordinals, deps.clock.now());
      for (const [ordinal, span] of still) parked.add({ datasetNo, ordinal }, span);
      return new Set(still.keys());
    },
    onWake: (datasetNo, wake) => parked.onWake(datasetNo, wake),
    parked: (place, wantsMore) => {
      const span = waits.span(place);
      waits.forget(place);
      parked.add(place, wantsMore ? { ...span, until: Number.NEGATIVE_INFINITY } : span);
    },
    ended: (place) => {
      waits.settlePutOffs(scope.fence, place, { now: deps.clock.now(), before: Number.POSITIVE_INFINITY });
      waits.forget(place);
      parked.release(place);
    },
  };
}

/** What earlier attempts, or the run that this one repeats, recorded of rows. */
function rowRecords(context: AttemptContext): Pick<DatasetHost, 'firstRows' | 'prepareRows' | 'takeRowCredits'> {
  const { deps, scope, calls, boundaries, options, waits } = context;
  return {
    firstRows: (datasetNo) => context.calls.tries.rowsOf(datasetNo),
    prepareRows: async (datasetNo, ordinals) => {
      await Promise.all([
        calls.journal.load(datasetNo, ordinals, { retryFailed: options.retryFailed === true }),
        boundaries.load(datasetNo, ordinals),
        waits.load(datasetNo, ordinals),
        calls.source?.load(datasetNo, ordinals),
      ]);
      const now = deps.clock.now();
      for (const ordinal of ordinals) waits.settlePutOffs(scope.fence, { datasetNo, ordinal }, { now, before: now });
    },
    takeRowCredits: (datasetNo, ordinal) => {
      calls.journal.forget({ datasetNo, ordinal });
      calls.source?.forget({ datasetNo, ordinal });
      boundaries.forget(datasetNo, ordinal);
      return calls.settlements.take(datasetNo, ordinal);
    },
  };
}

/** Where the rows of a rerun with `--column` begin. */
function beginning({ options, calls }: AttemptContext): DatasetHost['beginsAt'] {
  const { column } = options;
  const { source } = calls;
  return column == null || source === undefined ? undefined : { column, runNo: source.runNo };
}
