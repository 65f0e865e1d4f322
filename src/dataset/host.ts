import type { Clock, Fence, Gate, Place, Scope } from '../scope/index.ts';
import type { RowCtx, RunFatalError } from '../sdk/index.ts';
import type { Committer, DatasetReads, JsonText } from '../store/index.ts';
import type { RunDatasets } from './registry.ts';

/**
 * What a run lends to its datasets. Everything that a dataset needs of rooms above it comes in here, so that
 * processing a range of rows can be handed to another process.
 */
export interface DatasetHost {
  readonly runNo: number;
  readonly play: string;
  readonly fence: Fence;
  readonly reads: DatasetReads;
  readonly committer: Committer;
  readonly clock: Clock;
  /** `.callsheet/files`: where staged files lie. */
  readonly filesDir: string;
  /** The scope that `ctx.dataset` was called in: the run, or a child play inline. */
  readonly scope: Scope;
  /** Rows in flight where `.run()` does not say. */
  readonly concurrency: number;
  /** How long rows in flight may be together, in bytes of JSON. */
  readonly maxBytesInFlight: number;
  /** True on a later attempt and of a rerun: rows may have a journal, and frames may exist. */
  readonly replay: boolean;
  /** `resume --retry-failed`: rows that ended failed are run again. */
  readonly retryFailed?: boolean;
  /** The run went on under other code than it began with: its datasets may have other columns now. */
  readonly codeChanged?: boolean;
  /** `rerun --column`: rows begin at this column, with the cells before it that this run has recorded. */
  readonly beginsAt?: { readonly column: string; readonly runNo: number } | undefined;
  /** A plan is made: rows park where a call is not answered, and `.run()` gives what there is. */
  readonly planning?: boolean;
  /** One for each attempt (`new RunDatasets()`), shared with inline children. */
  readonly datasets: RunDatasets;
  /** Told of every `.run()`: the run waits for it, whether the play does or not. */
  started(running: Promise<unknown>): void;
  /** A ctx for author's code at this scope. Cheap: called for each cell and leg. */
  rowCtx(scope: Scope): RowCtx;
  /**
   * A gate for one row; the run suspends and closes all that are open. `closeRow` gives it back.
   * The run calls `suspended` when the row itself has come to a wait (not when the run ends): that is how a row is parked
   * and its slot freed.
   */
  openRow(suspended: () => void): Gate;
  closeRow(gate: Gate): void;
  /** False once the run is ending (fatal, interrupted, cancelled, suspended): start no further row. */
  admitting(): boolean;
  /** A pool of rows has begun whose calls may go out together: `grow` lets more of them be in flight. */
  crowd?(datasetNo: number, grow: (rows: number) => void): RowCrowd;
  /** How rows wait for what is outside. */
  readonly waiting: RowWaiting;
  /**
   * True once a run-fatal error was raised: rows that end from then on are not recorded, since what their code caught and
   * made a value of may have been that error. Without it, every end of `admitting` counts as one.
   */
  fatal?(): boolean;
  /** Loads what was recorded of these rows before they run again: on replays a chunk at a time, and of woken rows. */
  prepareRows(datasetNo: number, ordinals: readonly number[]): Promise<void>;
  /** Rows of the dataset that go before all others: their calls hold credits that others wait for. */
  firstRows?(datasetNo: number): readonly number[];
  /** Remembers the first run-fatal error; the run ends with it whatever the play does. */
  raiseFatal(error: RunFatalError): void;
  /** Credits and receipt ids that the calls of a row have settled so far: for its record. Forgets the row. */
  takeRowCredits(datasetNo: number, ordinal: number): number;
  /** `file:line:column` of the author's code that threw, where it can be told better than from the error's own stack. */
  placeOf?(error: unknown): string | undefined;
  event(event: {
    readonly type: string;
    readonly level: 'debug' | 'info' | 'warn' | 'error';
    readonly message: string;
    readonly datasetNo?: number;
    readonly ordinal?: number;
    readonly data?: JsonText;
  }): void;
  /** Called when the counters of a dataset have changed; throttled by the run. */
  progress(snapshot: () => DatasetProgress): void;
}

/** What a pool tells those who gather calls of its rows. */
export interface RowCrowd {
  /** Nothing further starts before one of these rows in flight ends; 0 once something may. */
  stuck(rows: number): void;
  close(): void;
}

/** What a dataset and its run tell each other of rows that wait. */
export interface RowWaiting {
  /** Aborted when the attempt is ending. */
  readonly halt: AbortSignal;
  /** How long a row's own steps may still work once the row waits for something (ms). */
  readonly stepGraceMs: number;
  /**
   * Whether the dataset can go on by itself: not while it is read from code that may wait, nor while all that is left of
   * it is parked.
   */
  busy(isBusy: boolean): void;
  /** All that is left of the dataset waits: for its scope that is like any other wait. */
  rests(): void;
  /** The rows among these parked ones that wait for nothing that has happened by now. They are woken like others. */
  still?(datasetNo: number, ordinals: readonly number[]): Promise<ReadonlySet<number>>;
  /** How the run brings back parked rows of this dataset. */
  onWake(datasetNo: number, wake: (ordinal: number) => void): void;
  /** The record of a parked row is durable: from now on it may be woken, and is at once where its code `wantsMore`. */
  parked(place: Place, wantsMore: boolean): void;
  /** The row is completed or failed. */
  ended(place: Place): void;
}

/** Counters of one dataset, from what was recorded. `total = queued + active + waiting + completed + failed + skipped`. */
export interface DatasetProgress {
  readonly key: string;
  readonly datasetNo: number;
  readonly total: number;
  /** Rows that were ever begun, earlier attempts included. */
  readonly started: number;
  readonly active: number;
  readonly queued: number;
  readonly waiting: number;
  readonly completed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Rows that an earlier attempt had finished. */
  readonly reused: number;
  readonly credits: number;
  readonly legs: readonly {
    /** Column and steps: `email.hunter`. */
    readonly path: string;
    readonly hits: number;
    readonly misses: number;
    readonly unavailable: number;
    readonly skipped: number;
    readonly failed: number;
    /** It had a value, and neither the cell nor the leg that answered has made use of it. */
    readonly rejected: number;
  }[];
  /** Rows active for longer than a minute. */
  readonly slow: readonly { readonly ordinal: number; readonly path: string; readonly sinceMs: number }[];
}
