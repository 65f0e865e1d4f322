import type { Digest, Place } from '../scope/index.ts';
import type {
  BoundaryEntry,
  CallEntry,
  CallInRun,
  CallSource,
  FrameRecord,
  Instant,
  JsonText,
  OperationRecord,
  RowRecord,
  RunEvent,
  RunRecord,
  RunStatus,
  StoredReceipt,
  WaitRecord,
  WriteInRun,
} from './records.ts';
import type { Write } from './writes.ts';

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
