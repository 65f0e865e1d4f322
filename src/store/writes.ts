import type { Digest, Fence, Place } from '../scope/index.ts';
import type {
  BoundaryEntry,
  CallEntry,
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
  RunStatus,
  SignalOutcome,
  WaitRecord,
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
  /** They serve no later question; one that is evicted at the very instant of its recording was charged nothing, either. */
  | { readonly kind: 'evict'; readonly receiptIds: readonly number[]; readonly at: Instant }
  /**
   * The job that the receipt `start` is of has ended by the receipt `end`, of this unit or of an earlier one: `start` serves no
   * later question. Where another receipt has ended it before, `end` serves none either and was charged nothing, and
   * `isEndedBefore` is true.
   */
  | {
      readonly kind: 'endJob';
      readonly start: number;
      readonly end: { readonly id?: number };
      readonly at: Instant;
      isEndedBefore?: boolean;
    }
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
  /**
   * How a call ended. With `family` (the id of its root), a call that another run of it has paid for under the operation key that
   * this one is on record with costs nothing here, and `isPaidElsewhere` is true then.
   */
  | {
      readonly kind: 'call';
      readonly fence: Fence;
      readonly place: Place;
      readonly entry: CallEntry;
      readonly family?: string | undefined;
      isPaidElsewhere?: boolean;
    }
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
