import type { Digest, Fence, Place } from '../scope/index.ts';
import type { AnswerSource, Effect } from '../sdk/index.ts';

/** JSON as text: the store keeps it and never looks inside. */
export type JsonText = string;
/** Milliseconds since the Unix epoch. */
export type Instant = number;

export type RunStatus = 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';

/** What is fixed when a run is made. */
export interface NewRun {
  readonly id: string;
  readonly play: string;
  /** Hash of the artifact that the run is pinned to. */
  readonly artifact: string;
  readonly input: JsonText;
  /** What the run was started with: limits, refresh, paths. */
  readonly options: JsonText;
  readonly seed: string;
  readonly identityFormat: number;
  readonly createdAt: Instant;
  readonly rootRunId: string;
  readonly parentRunId: string | null;
  readonly replayedFrom: string | null;
  readonly idempotencyKey: string | null;
}

export interface RunRecord extends NewRun {
  /** Small integer that all other tables name the run by. Assigned by the store. */
  readonly no: number;
  readonly status: RunStatus;
  /** 0 before the first attempt. */
  readonly attempt: number;
  readonly owner: string | null;
  readonly leaseUntil: Instant | null;
  /** When the first attempt began: what the age of receipts is measured at. */
  readonly startedAt: Instant | null;
  readonly finishedAt: Instant | null;
  readonly wakeAt: Instant | null;
  readonly cancelRequested: boolean;
  readonly error: JsonText | null;
  readonly result: JsonText | null;
}

/** A stored answer. Immutable; a refresh adds another. */
export interface NewReceipt {
  readonly key: Digest;
  readonly tool: string;
  readonly version: string;
  /** Digest of the tool's definition when it was bought. */
  readonly toolDigest: string;
  /** `provider/account` as people see it. */
  readonly account: string;
  readonly inputDigest: Digest;
  readonly input: JsonText;
  /** The raw answer (tool port's RawAnswer) as JSON. */
  readonly raw: JsonText;
  readonly at: Instant;
  readonly durationMs: number;
  /** The run that bought it, and the call that led. */
  readonly runNo: number;
  readonly callId: Digest;
  /** False for answers that no other call may have ('never', pending). */
  readonly reusable: boolean;
}

export interface StoredReceipt extends Omit<NewReceipt, 'raw' | 'input'> {
  readonly id: number;
  /** Undefined where it is larger than 64 KiB: fetch it singly with `receiptRaw`. */
  readonly raw: JsonText | undefined;
  readonly rawBytes: number;
}

/** How a call of a run ended: a journal entry. */
export interface CallEntry {
  readonly callId: Digest;
  /** Column and steps: `email.hunter`; empty outside columns. */
  readonly path: string;
  readonly label: string;
  readonly tool: string;
  readonly outcome: 'completed' | 'no_result' | 'failed';
  readonly source: AnswerSource;
  readonly receiptId: number | null;
  /** What the call cost this run. */
  readonly credits: number;
  readonly durationMs: number;
  readonly at: Instant;
  readonly effect: Effect;
  readonly toolDigest: string;
  /** Digest of the input, and of the place without the input: what tells a changed write on replay. */
  readonly inputDigest: Digest;
  readonly error: JsonText | null;
}

export type BoundaryKind = 'step' | 'fetch' | 'now' | 'csv' | 'sleep' | 'event' | 'child' | 'result';

/** What a boundary returned, and returns again on every later attempt. */
export interface BoundaryEntry {
  readonly key: Digest;
  readonly kind: BoundaryKind;
  readonly label: string;
  readonly path: string;
  readonly inputDigest: Digest;
  readonly state: 'resolved' | 'failed';
  readonly value: JsonText;
  readonly at: Instant;
}

/** The header of a dataset's admitted rows. */
export interface FrameRecord {
  /** 1, 2, 3 … in order of admission within the run. */
  readonly datasetNo: number;
  readonly key: string;
  /** Child plays from the run's play down to the dataset. */
  readonly playPath: JsonText;
  /** Column names in order, key fields, source (staged file digest or 'spool'), options: the dataset room's own JSON. */
  readonly plan: JsonText;
  readonly sealed: boolean;
  readonly total: number;
  /** Rows that are admitted to processing: total without skipped ones. */
  readonly admitted: number;
  readonly at: Instant;
}

export type RowState = 'completed' | 'failed' | 'parked';

export interface RowRecord {
  readonly ordinal: number;
  readonly state: RowState;
  /** Derived cells as a JSON array in the order of the frame's columns; shorter where the row failed early. */
  readonly cells: JsonText;
  readonly error: JsonText | null;
  /** Legs tried and how they ended, per column, where it is more than the journal says. */
  readonly trace: JsonText | null;
  readonly credits: number;
  readonly at: Instant;
}

export interface RunEvent {
  readonly at: Instant;
  readonly type: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly datasetNo: number | null;
  readonly ordinal: number | null;
  readonly message: string;
  readonly data: JsonText | null;
}

/** Facts are taken from anyone; state is fenced by (run, attempt). */
export type Write =
  // --- facts
  | { readonly kind: 'run'; readonly run: NewRun /** assigned on commit */; no?: number }
  | {
      readonly kind: 'receipt';
      readonly receipt: NewReceipt /** assigned on commit, ascending over all processes */;
      id?: number;
    }
  | { readonly kind: 'evict'; readonly receiptIds: readonly number[]; readonly at: Instant }
  | { readonly kind: 'cancel'; readonly runId: string }
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
      readonly wakeAt: Instant | null;
    }
  | { readonly kind: 'runOptions'; readonly fence: Fence; readonly options: JsonText }
  | { readonly kind: 'call'; readonly fence: Fence; readonly place: Place; readonly entry: CallEntry }
  | { readonly kind: 'boundary'; readonly fence: Fence; readonly place: Place; readonly entry: BoundaryEntry }
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
  readonly what: 'lease' | 'run-exists' | 'run-missing';
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
}

/** What `call` reads. */
export interface CallReads {
  /** The newest reusable, not evicted receipt for each query, in order. */
  receiptsByKeys(queries: readonly ReceiptQuery[]): Promise<readonly (StoredReceipt | undefined)[]>;
  receiptsByIds(ids: readonly number[]): Promise<readonly (StoredReceipt | undefined)[]>;
  receiptRaw(id: number): Promise<JsonText | undefined>;
  /** Journal of the rows named (dataset 0, ordinal 0 is the run itself). */
  journal(
    runNo: number,
    datasetNo: number,
    ordinals: readonly number[],
  ): Promise<ReadonlyMap<number, readonly CallEntry[]>>;
  /** Receipts that this run bought and no live journal entry of it names: a dead attempt's, paid but not yet settled. */
  unsettledReceipts(runNo: number): Promise<readonly StoredReceipt[]>;
  /** Credits that the run's journal has settled. */
  settledCredits(runNo: number): Promise<number>;
}

/** What `run` and `engine` read. */
export interface RunReads {
  run(id: string): Promise<RunRecord | undefined>;
  runByIdempotencyKey(key: string): Promise<RunRecord | undefined>;
  boundaries(
    runNo: number,
    datasetNo: number,
    ordinals: readonly number[],
  ): Promise<ReadonlyMap<number, readonly BoundaryEntry[]>>;
  /** A `step` kept as a receipt uses `receiptsByKeys`; this is the run's own. */
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
  /** The latest earlier run of this play that has a sealed frame for this dataset: for `previousCell`. */
  previousFrame(
    play: string,
    datasetKey: string,
    beforeRunNo: number,
  ): Promise<{ readonly runNo: number; readonly frame: FrameRecord } | undefined>;
}

export interface ToolTotals {
  readonly tool: string;
  readonly source: AnswerSource;
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
