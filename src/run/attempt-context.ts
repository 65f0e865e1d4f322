import type { CallProcess, CallRun } from '../call/index.ts';
import type { DatasetHost, DatasetProgress } from '../dataset/index.ts';
import type { CallCounters, ObservedEvent, Timings } from '../observe/index.ts';
import type { OpenedArtifact } from '../play/index.ts';
import type { Chance, Clock, Scope } from '../scope/index.ts';
import type { Play } from '../sdk/index.ts';
import type { Committer, RunRecord, Store } from '../store/index.ts';
import type { Boundaries } from './boundary.ts';
import type { ChildKeys } from './child-keys.ts';
import type { Ending } from './ending.ts';
import type { ParkedRows } from './parked.ts';
import type { RunOptions } from './run-options.ts';
import type { Suspension } from './suspension.ts';
import type { TreeBudgets } from './tree-budget.ts';
import type { Waits } from './waits.ts';

/** What an attempt needs of the rooms around it; wired by the workspace. */
export interface RunDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly calls: CallProcess;
  readonly budgets: TreeBudgets;
  readonly filesDir: string;
  readonly concurrency: number;
  readonly maxBytesInFlight: number;
  openArtifact(hash: string, exportName: string | undefined): Promise<OpenedArtifact>;
  readSecret(name: string): string | undefined;
  /** Told of every run that this one has started: whoever works on due runs may begin at once. */
  startRun(runId: string): void;
}

/** The datasets of one attempt, as the capabilities see them. */
export interface AttemptDatasets {
  /** What a dataset made at this scope is lent. */
  host(scope: Scope): DatasetHost;
  progress(): readonly DatasetProgress[];
  /** True once after something changed. */
  takeChanged(): boolean;
  /** Resolves when every dataset that was started has settled, however. */
  settled(): Promise<void>;
}

/** What the attempt shows of itself while it runs. */
export interface AttemptView {
  readonly context: AttemptContext;
  readonly counters: CallCounters;
  readonly timings: Timings;
}

/** What a plan does not do. */
export type PlannedStop = 'step' | 'fetch' | 'sleep' | 'event' | 'child';

/** True where the store holds something of the run before its play begins: of an earlier attempt, or of a rerun's source. */
export function isReplay(run: RunRecord): boolean {
  return run.attempt > 1 || run.replayedFrom !== null;
}

/** What the capabilities of one attempt share. */
export interface AttemptContext {
  readonly deps: RunDeps;
  readonly run: RunRecord;
  readonly attempt: number;
  readonly options: RunOptions;
  readonly scope: Scope;
  readonly ending: Ending;
  readonly calls: CallRun;
  readonly boundaries: Boundaries;
  readonly waits: Waits;
  readonly suspension: Suspension;
  readonly parked: ParkedRows;
  readonly datasets: AttemptDatasets;
  /** Every play that the artifact holds, exported or not. */
  readonly plays: readonly Play[];
  /** Names of the plays from the run's root down to the one whose code this is. */
  readonly ancestry: readonly string[];
  readonly children: ChildKeys;
  /** The attempt spends nothing any more. */
  closeBudget(): void;
  /** Secrets that the play declares. */
  readonly secrets: readonly string[];
  readonly input: unknown;
  /** Set where the play is planned: leaves what is not kept pending. */
  readonly planning?: ((kind: PlannedStop, label: string, scope: Scope) => never) | undefined;
  /** Rows of the largest file read so far. */
  readonly files: { largest: number };
  emit(event: Partial<ObservedEvent> & Pick<ObservedEvent, 'type' | 'message'>): void;
}
