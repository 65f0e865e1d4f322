import type { Digest, Place } from '../scope/index.ts';
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
  /** When whoever works on due runs may take it; null where the one that made it works on it. */
  readonly wakeAt: Instant | null;
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
  readonly input: JsonText;
  /** The raw answer (tool port's RawAnswer) as JSON. */
  readonly raw: JsonText;
  readonly at: Instant;
  readonly durationMs: number;
  /** The run that bought it, and the call that led: its own key where it belongs to no call (the whole answer of a batch). */
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
  /** Present where it was charged nothing, and its call was asked anew: evicted at the very instant of its recording. */
  readonly isVoid?: true;
}

/** Where a call's end came from: `unsent` where nothing went out, since it was refused before. */
export type CallSource = AnswerSource | 'unsent';

/** How a call of a run ended: a journal entry. */
export interface CallEntry {
  readonly callId: Digest;
  /** Column and steps: `email.hunter`; empty outside columns. */
  readonly path: string;
  readonly label: string;
  readonly tool: string;
  readonly outcome: 'completed' | 'no_result' | 'failed';
  readonly source: CallSource;
  readonly receiptId: number | null;
  /** What the call cost this run. */
  readonly credits: number;
  readonly durationMs: number;
  readonly at: Instant;
  readonly effect: Effect;
  readonly toolDigest: string;
  /** What tells, with the place, a changed or moved write on a later attempt. */
  readonly inputDigest: Digest;
  readonly error: JsonText | null;
}

/** How one call stands in one run. */
export interface CallInRun {
  readonly runNo: number;
  /** It ended with an answer. */
  readonly answered: boolean;
  readonly operation: OperationRecord | null;
  /** The operation came with a copy of another run: this one has not sent it. */
  readonly inherited: boolean;
}

/** What a run knew of a call in the rest of its family of reruns, when it decided to make it. */
export interface KnownInFamily {
  /** The run that all the others of the family come from. */
  readonly root: string;
  /** How the call stood in those of the others that had a record of it, by their numbers. */
  readonly standing: readonly CallInRun[];
}

/** A write that a run has a record of: of its call's end, of its operation, or of both. */
export interface WriteInRun extends Pick<CallEntry, 'callId' | 'path' | 'label' | 'tool' | 'inputDigest'> {
  readonly place: Place;
  readonly answered: boolean;
  readonly operation: Pick<OperationRecord, 'state' | 'refusals'> | null;
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

/** What becomes of an event wait whose time is over: fixed when it is armed. */
export type TimeoutPolicy = 'null' | 'fail' | 'park';

/** Something that a scope waits for. Armed once under its key; open until it is answered or its time is over. */
export interface NewWait {
  /** The identity of the boundary. */
  readonly key: Digest;
  readonly kind: 'sleep' | 'event' | 'provider';
  readonly label: string;
  readonly path: string;
  readonly inputDigest: Digest;
  /** The event's name; null where it is only the time that counts. */
  readonly event: string | null;
  /** The row's key as people write it; null outside rows. */
  readonly rowKey: string | null;
  /** When a sleep is over, an event's time is, or a provider takes calls again; null for ever. */
  readonly deadline: Instant | null;
  readonly policy: TimeoutPolicy;
  readonly armedAt: Instant;
  /** False where only an answer that comes after the question counts: no signal that was kept answers it. Not stored. */
  readonly early?: false;
}

export interface WaitRecord extends Omit<NewWait, 'early'> {
  /** Ascending over all runs: an earlier wait is answered first. Assigned by the store. */
  readonly no: number;
  readonly place: Place;
  readonly state: 'open' | 'answered' | 'timedOut';
  readonly payload: JsonText | null;
  /** The number of the signal that answered it. */
  readonly signalNo: number | null;
  readonly settledAt: Instant | null;
}

/** An answer from outside. */
export interface NewSignal {
  /** Null for whichever run waits for it. */
  readonly runId: string | null;
  readonly event: string;
  /** Only waits of the row with this key; null for any, also outside rows. */
  readonly rowKey: string | null;
  /** Only this very wait, whatever its event's name. */
  readonly waitNo: number | null;
  /** True to answer every wait that matches (the first of each row); false refuses where several rows or runs match. */
  readonly all: boolean;
  /** True to keep it for a later wait although an earlier one of this run, event and row is over. */
  readonly keep?: boolean;
  readonly data: JsonText;
  readonly at: Instant;
}

export interface SignalOutcome {
  /** Waits that it answered; empty where it was kept. */
  readonly delivered: readonly { readonly runId: string; readonly waitNo: number; readonly rowKey: string | null }[];
  /**
   * True where nothing waits for it yet: kept for the first wait of that run, event and row. Where such a wait is over
   * already, only with `keep`; without it the signal is refused as 'wait-settled', since it may be one sent twice.
   */
  readonly kept: boolean;
}

/**
 * An operation of a call that has no journal entry yet, so that the next attempt knows what the last one did:
 * an intent (`intended`: a request that may not be repeated is about to go out), or a retry cursor (`retrying`).
 * A later record of the call takes its place. It stays when the call is journalled: `site` is how a later attempt knows
 * that a write which is recorded has another input now.
 */
export interface OperationRecord {
  readonly callId: Digest;
  /** The call's place without its input: what tells, on a resume, that a write has another input now. */
  readonly site: Digest;
  readonly path: string;
  readonly label: string;
  readonly tool: string;
  readonly inputDigest: Digest;
  readonly operationKey: string;
  /** `done` and `notDone` only by `resolve`. */
  readonly state: 'intended' | 'retrying' | 'done' | 'notDone';
  readonly tries: number;
  readonly refusals: number;
  /** Not before this instant is it tried again; null at once. */
  readonly waitUntil: Instant | null;
  /** What whoever resolved it says was answered. */
  readonly answer: JsonText | null;
  /** Set where it went out, or is to go out, with others under this operation key. */
  readonly batch: BatchPlace | null;
  readonly at: Instant;
  /** Set on what is read, of a rerun that was given it: the run that it comes from has sent it. */
  readonly isInherited?: true;
}

/** Where a call stands in the request that it shares with others, and what it asks: a resume sends the same request. */
export interface BatchPlace {
  readonly index: number;
  readonly size: number;
  readonly input: JsonText;
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
