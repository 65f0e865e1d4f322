import type { Digest, Fence, Place } from '../scope/index.ts';
import type {
  BoundaryEntry,
  CallEntry,
  CallInRun,
  CallSource,
  FrameRecord,
  Instant,
  JsonText,
  KnownInFamily,
  NewReceipt,
  NewRun,
  NewSignal,
  NewWait,
  OperationRecord,
  RowRecord,
  RunEvent,
  RunRecord,
  RunStatus,
  SignalOutcome,
  StoredReceipt,
  WaitRecord,
  WriteInRun,
} from './records.ts';

/** Facts are taken from anyone; state is fenced by (run, attempt). */
export type Write =
  // --- facts
  /** Makes a run, with cancel requested where that is so of its parent. StoreConflict `run-exists`. */
  | { readonly kind: 'run'; readonly run: NewRun /** assigned on commit */; no?: number }
  | {
      readonly kind: 'receipt';
      readonly receipt: NewReceipt /** assigned on commit, ascending over all processes */;
      id?: number;
    }
  | { readonly kind: 'evict'; readonly receiptIds: readonly number[]; readonly at: Instant }
  | { readonly kind: 'cancel'; readonly runId: string }
  /**
   * Answers waits, or is kept for one to come; `outcome` is assigned on commit. A run that is waiting is woken in the
   * same transaction. StoreConflict: `run-missing`, `run-finished`, `wait-settled` (the wait is over or unknown, or another signal is kept for it),
   * `signal-several` (several rows or runs match and not `all`), `signal-unawaited` (no run named and nothing matches).
   */
  | { readonly kind: 'signal'; readonly signal: NewSignal; outcome?: SignalOutcome }
  /** Somebody says what became of an operation in doubt. StoreConflict `operation-missing` where there is none to resolve. */
  | {
      readonly kind: 'resolve';
      readonly runId: string;
      readonly callId: Digest;
      readonly as: 'done' | 'notDone';
      readonly answer: JsonText | null;
      readonly at: Instant;
    }
  /**
   * Gives a run that was never worked on what a rerun begins with: all frames, chunks, spooled rows, csv boundaries and
   * operations in doubt of another, and its row records except those of `again` (by dataset; 'all' for all rows).
   */
  | {
      readonly kind: 'copyRun';
      readonly fromRunNo: number;
      readonly toRunId: string;
      readonly again: readonly { readonly datasetNo: number; readonly ordinals: readonly number[] | 'all' }[];
    }
  | { readonly kind: 'event'; readonly runNo: number; readonly event: RunEvent }
  /** Takes the lease and makes a new attempt: refused with StoreConflict unless `attempt` is the next and the lease is free, over, or `takeOver`. */
  | {
      readonly kind: 'lease';
      readonly runId: string;
      readonly attempt: number;
      readonly owner: string;
      readonly now: Instant;
      readonly until: Instant;
      readonly takeOver: boolean;
    }
  // --- state
  | { readonly kind: 'heartbeat'; readonly fence: Fence; readonly until: Instant }
  /** Ends or pauses the attempt; gives the lease back. */
  | {
      readonly kind: 'runState';
      readonly fence: Fence;
      readonly status: RunStatus;
      readonly at: Instant;
      readonly error: JsonText | null;
      readonly result: JsonText | null;
      /** Where the status is `waiting`: at the latest then. */
      readonly wakeAt: Instant | null;
      /** The newest signal that the attempt knows of: where a newer one has answered a wait of the run, it is due at once. */
      readonly seenSignal?: number;
    }
  | { readonly kind: 'runOptions'; readonly fence: Fence; readonly options: JsonText }
  /** The run goes on under other code than it was started with. */
  | { readonly kind: 'runArtifact'; readonly fence: Fence; readonly artifact: string }
  | { readonly kind: 'call'; readonly fence: Fence; readonly place: Place; readonly entry: CallEntry }
  | { readonly kind: 'boundary'; readonly fence: Fence; readonly place: Place; readonly entry: BoundaryEntry }
  /**
   * Arms a wait unless one of its key is there; a signal that was kept for it answers it at once. `stored` (what stands
   * now, of this or an earlier arming) is assigned on commit.
   */
  | {
      readonly kind: 'arm';
      readonly fence: Fence;
      readonly place: Place;
      readonly wait: NewWait;
      stored?: WaitRecord;
    }
  /**
   * The time of a wait is over: settled as `timedOut` unless it was answered before; `park` takes its deadline away
   * instead and leaves it open, unless the wait is `dropped`. `stored` is what stands now.
   */
  | {
      readonly kind: 'expire';
      readonly fence: Fence;
      readonly place: Place;
      readonly key: Digest;
      readonly at: Instant;
      readonly dropped?: true;
      stored?: WaitRecord;
    }
  /**
   * Keeps what a call is about to do, or how far it has come. With `known`, an operation whose call stands otherwise in the
   * family by now is not kept, and `overtaken` is true then: of all runs of a family one alone comes first.
   */
  | {
      readonly kind: 'operation';
      readonly fence: Fence;
      readonly place: Place;
      readonly operation: OperationRecord;
      readonly known?: KnownInFamily | undefined;
      overtaken?: boolean;
    }
  | { readonly kind: 'frame'; readonly fence: Fence; readonly frame: FrameRecord }
  /**
   * Key digests of rows [first, first + n): 16 bytes a row (the first 128 bits of the digest of the key), and for a
   * skipped row the ordinal that it repeats, else -1.
   */
  | {
      readonly kind: 'frameChunk';
      readonly fence: Fence;
      readonly datasetNo: number;
      readonly first: number;
      readonly keys: Uint8Array;
      readonly repeats: Int32Array;
    }
  /** Rows [first, first + n) of a source that is no file: one JSON object a row. */
  | {
      readonly kind: 'spool';
      readonly fence: Fence;
      readonly datasetNo: number;
      readonly first: number;
      readonly rows: readonly JsonText[];
    }
  | { readonly kind: 'row'; readonly fence: Fence; readonly datasetNo: number; readonly row: RowRecord }
  /** The records of all rows of a dataset go; what their calls bought and their journals stay. */
  | { readonly kind: 'forgetRows'; readonly fence: Fence; readonly datasetNo: number }
  /** `net_new`: claims keys for the run; `granted` is assigned on commit, one flag a key. */
  | {
      readonly kind: 'claim';
      readonly fence: Fence;
      readonly scope: string;
      readonly keys: readonly Digest[];
      granted?: readonly boolean[];
    }
  | { readonly kind: 'releaseClaims'; readonly fence: Fence };

/** Writes that are atomic together. */
export type Unit = readonly Write[];
export type UnitOutcome = { readonly ok: true } | { readonly ok: false; readonly error: unknown };

/** A condition inside a write did not hold: lease taken, idempotency key used. Nothing of the unit was written. */
export class StoreConflict extends Error {
  readonly what:
    | 'lease'
    | 'run-exists'
    | 'run-missing'
    | 'run-finished'
    | 'wait-settled'
    | 'wait-missing'
    | 'signal-several'
    | 'signal-unawaited'
    | 'operation-missing';
  constructor(what: StoreConflict['what'], message: string) {
    super(message);
    this.name = 'StoreConflict';
    this.what = what;
  }
}

export interface ReceiptQuery {
  readonly key: Digest;
  /** Only receipts recorded at or after this instant; undefined takes any age. */
  readonly notBefore: Instant | undefined;
  /** Evicted and not reusable ones, too: what other receipts point at by its key. */
  readonly every?: true;
}

/** What `call` reads. */
export interface CallReads {
  /** The newest reusable, not evicted receipt for each query, in order; the newest of all where it asks for `every`. */
  receiptsByKeys(queries: readonly ReceiptQuery[]): Promise<readonly (StoredReceipt | undefined)[]>;
  receiptsByIds(ids: readonly number[]): Promise<readonly (StoredReceipt | undefined)[]>;
  receiptRaw(id: number): Promise<JsonText | undefined>;
  /** Journal of the rows named (dataset 0, ordinal 0 is the run itself). */
  journal(
    runNo: number,
    datasetNo: number,
    ordinals: readonly number[],
  ): Promise<ReadonlyMap<number, readonly CallEntry[]>>;
  /**
   * Receipts of calls that this run bought and no live journal entry of it names: a dead attempt's, paid but not yet settled.
   */
  unsettledReceipts(runNo: number): Promise<readonly StoredReceipt[]>;
  /** All operations of the rows named, of journalled calls too (dataset 0, ordinal 0 is the run itself). */
  operations(
    runNo: number,
    datasetNo: number,
    ordinals: readonly number[],
  ): Promise<ReadonlyMap<number, readonly OperationRecord[]>>;
  /** All operations that were sent together under this key, in their order in it; none of calls that went out alone. */
  operationsOfBatch(
    runNo: number,
    operationKey: string,
  ): Promise<readonly (OperationRecord & { readonly place: Place })[]>;
  /** How a call stands in those of the runs that have a record of it, in their order. */
  callInRuns(runNos: readonly number[], place: Place, callId: Digest): Promise<readonly CallInRun[]>;
  /** Every write that the run has a record of, by place and call. */
  writesOfRun(runNo: number): Promise<readonly WriteInRun[]>;
  /** Credits that the run's journal has settled. */
  settledCredits(runNo: number): Promise<number>;
  /** Credits that the journals of all runs have settled from `at` on. */
  creditsSince(at: Instant): Promise<number>;
}

/** What `run` and `engine` read. */
export interface RunReads {
  run(id: string): Promise<RunRecord | undefined>;
  runByIdempotencyKey(key: string): Promise<RunRecord | undefined>;
  /** Runs that were made from this one as reruns, and from those, oldest first. */
  rerunsOf(runId: string): Promise<readonly RunRecord[]>;
  /** Runs that were started by this one, and by those, oldest first. */
  childrenOf(runId: string): Promise<readonly RunRecord[]>;
  boundaries(
    runNo: number,
    datasetNo: number,
    ordinals: readonly number[],
  ): Promise<ReadonlyMap<number, readonly BoundaryEntry[]>>;
  /** Waits of the rows named, settled ones too, in order of arming. */
  waits(
    runNo: number,
    datasetNo: number,
    ordinals: readonly number[],
  ): Promise<ReadonlyMap<number, readonly WaitRecord[]>>;
  /** Where waits of the run were answered by a signal after `afterSignal`, and the newest signal of all. */
  answeredSince(
    runNo: number,
    afterSignal: number,
  ): Promise<{ readonly places: readonly Place[]; readonly newest: number }>;
  /** Open waits of the run: the earliest deadline, and the events with how many wait for each. */
  openWaits(runNo: number): Promise<{
    readonly wakeAt: Instant | null;
    readonly events: readonly { readonly event: string; readonly count: number }[];
  }>;
  /** Runs that are due at `now`: queued or waiting ones whose time has come, and those whose lease is over. */
  runsDue(now: Instant, limit: number): Promise<readonly RunRecord[]>;
}

/** What `dataset` reads. */
export interface DatasetReads {
  frames(runNo: number): Promise<readonly FrameRecord[]>;
  frameChunk(
    runNo: number,
    datasetNo: number,
    from: number,
    to: number,
  ): Promise<{ readonly keys: Uint8Array; readonly repeats: Int32Array }>;
  spool(runNo: number, datasetNo: number, from: number, to: number): Promise<readonly JsonText[]>;
  /** Records of rows [from, to) that exist, in order; bounded by `maxBytes` (at least one row), so ask again from the last + 1. */
  rows(
    runNo: number,
    datasetNo: number,
    range: { readonly from: number; readonly to: number; readonly maxBytes: number },
  ): Promise<readonly RowRecord[]>;
  /** One byte a row of [from, to): 0 none, 1 completed, 2 failed, 3 parked. */
  rowStates(runNo: number, datasetNo: number, from: number, to: number): Promise<Uint8Array>;
  rowCounts(
    runNo: number,
    datasetNo: number,
  ): Promise<{
    readonly completed: number;
    readonly failed: number;
    readonly parked: number;
    readonly credits: number;
  }>;
  /**
   * Completed and failed rows by how their legs ended: the letters of their traces; of rows without a trace, one for each
   * cell, `m` where it is null and else `h`.
   */
  legCounts(runNo: number, datasetNo: number): Promise<readonly LegCounts[]>;
  /** The latest earlier run of this play that has a sealed frame for this dataset: for `previousCell`. */
  previousFrame(
    play: string,
    datasetKey: string,
    beforeRunNo: number,
  ): Promise<{ readonly runNo: number; readonly frame: FrameRecord } | undefined>;
}

/** Finished rows whose legs ended alike. */
export interface LegCounts {
  readonly state: 'completed' | 'failed';
  readonly legs: string;
  readonly rows: number;
  readonly credits: number;
}

export interface ToolTotals {
  readonly tool: string;
  readonly source: CallSource;
  readonly outcome: CallEntry['outcome'];
  /** Column and steps the calls were made from. */
  readonly path: string;
  readonly datasetNo: number;
  readonly calls: number;
  readonly credits: number;
}

export interface ReceiptFilter {
  readonly tool?: string | undefined;
  readonly key?: Digest | undefined;
  readonly before?: Instant | undefined;
  readonly limit: number;
  readonly afterId?: number | undefined;
}

/** What `report` reads. */
export interface ReportReads {
  listRuns(page: {
    readonly limit: number;
    readonly beforeNo?: number | undefined;
    readonly status?: RunStatus | undefined;
  }): Promise<readonly RunRecord[]>;
  events(
    runNo: number,
    page: { readonly afterSeq: number; readonly limit: number; readonly type?: string | undefined },
  ): Promise<readonly (RunEvent & { readonly seq: number })[]>;
  toolTotals(runNo: number): Promise<readonly ToolTotals[]>;
  failedRows(
    runNo: number,
    datasetNo: number,
    page: { readonly afterOrdinal: number; readonly limit: number },
  ): Promise<readonly RowRecord[]>;
  /** Failed calls outside rows, and of rows: for `runs errors`. */
  failedCalls(runNo: number, limit: number): Promise<readonly (CallEntry & { readonly place: Place })[]>;
  listReceipts(
    filter: ReceiptFilter,
  ): Promise<readonly (StoredReceipt & { readonly input: JsonText; readonly evictedAt: Instant | null })[]>;
  receipt(
    id: number,
  ): Promise<(StoredReceipt & { readonly input: JsonText; readonly evictedAt: Instant | null }) | undefined>;
  /** Open waits of one run, or of all that are not finished, in order of arming. */
  waitsOfRuns(filter: {
    readonly runNo?: number | undefined;
    readonly limit: number;
  }): Promise<readonly (WaitRecord & { readonly runId: string })[]>;
  /**
   * Operations that are in doubt or were resolved: `done` and `notDone`, and `intended` ones whose call has no journal
   * entry or one that failed.
   */
  operationsOfRun(runNo: number, limit: number): Promise<readonly (OperationRecord & { readonly place: Place })[]>;
  boundariesOfRun(runNo: number, limit: number): Promise<readonly (BoundaryEntry & { readonly place: Place })[]>;
  /** Share of completed answers among the receipts of a tool: for `plan`. */
  hitRate(tool: string): Promise<{ readonly completed: number; readonly noResult: number }>;
}

/** The system of record. Everything is asynchronous and batch-first. */
export interface Store {
  /**
   * One durable group: all units in one transaction. Where the group as a whole fails, each unit is tried alone, so
   * that a stale or oversized one rejects only itself. Resolves to one outcome a unit, in order; never rejects.
   */
  commit(units: readonly Unit[]): Promise<readonly UnitOutcome[]>;
  /** True once a write can be made again: what closes the persistence breaker. */
  probe(): Promise<boolean>;
  close(): Promise<void>;
  readonly calls: CallReads;
  readonly runs: RunReads;
  readonly datasets: DatasetReads;
  readonly report: ReportReads;
}

/** Group commit above any store: what the rooms write through. */
export interface Committer {
  /** Durable when it resolves; goes out at the end of this turn of the event loop with all others. Rejects with the unit's own error. */
  commit(unit: Unit): Promise<void>;
  /** Rides in the next group, 20 ms at most later; `settled` is told the outcome. FIFO with `commit`. */
  defer(unit: Unit, settled?: (error: unknown | undefined) => void): void;
  /** Resolves when all that was handed over before is durable; rejects with the first failure among them. */
  flush(): Promise<void>;
}
