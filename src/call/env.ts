import type { Budget, Governor, PersistenceBreaker, RetryBudget } from '../governor/index.ts';
import type { Chance, Clock, Digest, Fence, Scope } from '../scope/index.ts';
import type { RunFatalError } from '../sdk/index.ts';
import type { CallReads, Committer, NewReceipt, TryLog } from '../store/index.ts';
import type { Catalogue, CatalogueTool, Reconcile, Transport } from '../tool/index.ts';
import type { BatchSizes } from './batch-sizes.ts';
import type { Batches } from './batches.ts';
import type { Claims } from './claims.ts';
import type { Journal } from './journal.ts';
import type { Lookup } from './lookup.ts';
import type { OpenJobs } from './open-jobs.ts';
import type { OpenTries } from './open-tries.ts';
import type { Planning } from './planning.ts';
import type { RecordedWrites } from './recorded-writes.ts';
import type { Relatives } from './relatives.ts';
import type { Rereads } from './rereads.ts';
import type { Settlements } from './settlements.ts';
import type { SourceRuns } from './source-run.ts';

/** Where paid answers go that the store cannot take. */
export interface Rescue {
  /** An attempt begins: makes room for its answers as long as there is some. */
  prepare(runId: string): Promise<void>;
  /** Never throws; `parts` are the receipts of those who share the answer. Returns where the answer is now, for people ("in …"). Durable when it returns. */
  save(runId: string, receipt: NewReceipt, parts?: readonly NewReceipt[]): string;
  /** The attempt has ended: gives back the room, unless answers are in it. */
  release(runId: string): void;
}

/** What all runs of one process share. */
export interface CallProcess {
  readonly catalogue: Catalogue;
  readonly transport: Transport;
  readonly governor: Governor;
  readonly persistence: PersistenceBreaker;
  readonly reads: CallReads;
  /** Where it is kept what is out; undefined where nothing is bought of anybody. */
  readonly tryLog: TryLog | undefined;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly claims: Claims;
  readonly lookup: Lookup;
  readonly batchSizes: BatchSizes;
  readonly continueOnContractError: boolean;
  readonly rescue: Rescue;
  /** Asks a provider what became of a write; undefined where no provider is asked anything. */
  readonly reconcile: Reconcile | undefined;
  /** Reads the source of a secret anew; true where it has another value than before. */
  rereadSecret(name: string): boolean;
  /** The path of a secret handle within a value, where there is one. */
  findSecretHandle(value: unknown): string | undefined;
}

/** A call that begins again later. */
export interface PutOffCall {
  readonly scope: Scope;
  readonly callId: Digest;
  readonly inputDigest: Digest;
  readonly tool: Pick<CatalogueTool, 'id'>;
}

/** What the calls of one attempt share. */
export interface CallRun {
  readonly process: CallProcess;
  readonly runId: string;
  readonly runNo: number;
  readonly play: string;
  readonly fence: Fence;
  /** When the run's first attempt began (ms): what the age of receipts is measured at. */
  readonly startedAt: number;
  /** Tools whose receipts this run ignores: all of them, or these. */
  readonly refresh: 'all' | ReadonlySet<string>;
  readonly journal: Journal;
  /** The runs that this one is a rerun of; undefined where it is none. */
  readonly source?: SourceRuns | undefined;
  /** The other runs of the family of reruns that this one is of. */
  readonly relatives?: Relatives | undefined;
  /** Writes that must not be made again from another place; undefined where all code is as it was. */
  readonly recorded?: RecordedWrites | undefined;
  /** What failed is tried again: answers may differ from those that writes were made with. */
  readonly retriesFailed?: boolean;
  /** True where the run, or a run that it comes from, went on under other code than it began with. */
  readonly codeChanged?: boolean;
  /** True where writes that these runs have made are made again wherever the code asks for them in another place or form. */
  readonly resend?: boolean;
  readonly batches: Batches;
  readonly openJobs: OpenJobs;
  readonly tries: OpenTries;
  readonly settlements: Settlements;
  readonly budget: Budget;
  readonly retries: RetryBudget;
  readonly rereads: Rereads;
  /** Aborted when calls in flight must end now (a second signal). */
  readonly signal: AbortSignal;
  /** Aborted when nothing new may go out: with `Halted`, or with the error that ends the run. */
  readonly halt: AbortSignal;
  /** Set where a plan counts calls instead of making them. */
  readonly planning?: Planning | undefined;
  /** Throws the halt's reason: the lease being over is one. */
  assertGoing(): void;
  /** The call of a row begins again at that instant (ms), and the row waits until then: durable when it resolves. */
  putOff(call: PutOffCall, until: number): Promise<void>;
  raiseFatal(error: RunFatalError): void;
  event(event: { type: string; level: 'info' | 'warn' | 'error'; message: string; data?: string }): void;
  /** Where the time of calls goes, by tool (ms). */
  timed(tool: string, phase: 'queue' | 'pace' | 'provider' | 'record' | 'deliver', ms: number): void;
  /** Told of every call that ends, for counters. */
  ended(call: {
    readonly tool: string;
    readonly datasetNo: number;
    readonly path: string;
    readonly outcome: string;
    readonly source: string;
    readonly credits: number;
    readonly replayed: boolean;
  }): void;
}
