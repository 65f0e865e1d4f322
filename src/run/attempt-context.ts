import type { CallProcess, CallRun } from '../call/index.ts';
import type { DatasetHost, DatasetProgress } from '../dataset/index.ts';
import type { CallCounters, ObservedEvent } from '../observe/index.ts';
import type { OpenedArtifact } from '../play/index.ts';
import type { Chance, Clock, Scope } from '../scope/index.ts';
import type { Committer, RunRecord, Store } from '../store/index.ts';
import type { Boundaries } from './boundary.ts';
import type { Ending } from './ending.ts';

/** What a run was started with, kept with it. Paths are absolute. */
export interface RunOptions {
  readonly cwd: string;
  /** The folder of the play file; a fallback for relative paths. */
  readonly playDir: string | null;
  readonly exportName: string | null;
  readonly maxCredits: number | null;
  /** `billing.maxCreditsPerRun` of the play, for those who show the run without its code. */
  readonly playMaxCredits?: number | null;
  readonly concurrency: number | null;
  /** Take only the first n rows of every file. */
  readonly limit: number | null;
  /** The text encoding of every CSV file whose play does not say; null to find it out. */
  readonly encoding?: string | null;
  readonly refresh: 'all' | readonly string[];
  /** Set by a resume that also tries failed rows again. */
  readonly retryFailed?: boolean | undefined;
  /** `fixture` where answers come from recorded files. */
  readonly mode: 'live' | 'fixture';
}

/** What an attempt needs of the rooms around it; wired by the workspace. */
export interface RunDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly calls: CallProcess;
  readonly filesDir: string;
  readonly concurrency: number;
  readonly maxBytesInFlight: number;
  openArtifact(hash: string, exportName: string | undefined): Promise<OpenedArtifact>;
  readSecret(name: string): string | undefined;
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
  readonly datasets: AttemptDatasets;
  /** Secrets that the play declares. */
  readonly secrets: readonly string[];
  readonly input: unknown;
  /** Set where the play is planned: leaves a step or fetch that is not kept pending. */
  readonly planning?: ((kind: 'step' | 'fetch', label: string, scope: Scope) => never) | undefined;
  /** Rows of the largest file read so far. */
  readonly files: { largest: number };
  emit(event: Partial<ObservedEvent> & Pick<ObservedEvent, 'type' | 'message'>): void;
}
