import { digest, type Fence, type Place } from '../../scope/index.ts';
import type { Store } from '../port.ts';
import type {
  BoundaryEntry,
  CallEntry,
  FrameRecord,
  NewReceipt,
  NewRun,
  NewSignal,
  NewWait,
  OperationRecord,
  RowRecord,
  RunStatus,
  SignalOutcome,
  WaitRecord,
} from '../records.ts';
import type { WriteOf } from '../write-of.ts';
import type { Write } from '../writes.ts';

/** A store under test, and how to get at its data in other ways. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Another handle on the same data, as another process has it. */
  another(): Promise<Store>;
  /** Closes `store` and opens the same data again. */
  reopen(): Promise<Store>;
  dispose(): Promise<void>;
}

export type OpenStore = () => Promise<StoreUnderTest>;

export const AT = Date.parse('2026-01-01T00:00:00Z');

export function newRun(id: string, more: Partial<NewRun> = {}): NewRun {
  return {
    id,
    play: 'emails',
    artifact: 'artifact-1',
    input: '{"file":"people.csv"}',
    options: '{}',
    seed: 'seed',
    identityFormat: 1,
    createdAt: AT,
    rootRunId: id,
    parentRunId: null,
    replayedFrom: null,
    idempotencyKey: null,
    wakeAt: null,
    ...more,
  };
}

export function newReceipt(key: string, more: Partial<NewReceipt> = {}): NewReceipt {
  return {
    key: digest(key),
    tool: 'hunter.email_finder',
    version: '1',
    toolDigest: digest('tool'),
    account: 'hunter/default',
    input: `{"name":"${key}"}`,
    raw: `{"status":200,"body":{"email":"${key}@example.com"}}`,
    at: AT,
    durationMs: 12.5,
    runNo: 1,
    callId: digest(`call of ${key}`),
    reusable: true,
    ...more,
  };
}

export function callEntry(call: string, more: Partial<CallEntry> = {}): CallEntry {
  return {
    callId: digest(call),
    path: 'email.hunter',
    label: 'find',
    tool: 'hunter.email_finder',
    outcome: 'completed',
    source: 'live',
    receiptId: null,
    credits: 1,
    durationMs: 12,
    at: AT,
    effect: 'read',
    toolDigest: digest('tool'),
    inputDigest: digest(`input of ${call}`),
    error: null,
    ...more,
  };
}

export function rowRecord(ordinal: number, more: Partial<RowRecord> = {}): RowRecord {
  return {
    ordinal,
    state: 'completed',
    cells: `["cell ${ordinal}"]`,
    error: null,
    trace: null,
    credits: 1,
    at: AT,
    ...more,
  };
}

export function boundaryEntry(key: string, more: Partial<BoundaryEntry> = {}): BoundaryEntry {
  return {
    key: digest(key),
    kind: 'step',
    label: key,
    path: '',
    inputDigest: digest(`input of ${key}`),
    state: 'resolved',
    value: `{"of":"${key}"}`,
    at: AT,
    ...more,
  };
}

export function frameRecord(datasetNo: number, more: Partial<FrameRecord> = {}): FrameRecord {
  return {
    datasetNo,
    key: 'people',
    playPath: '[]',
    plan: '{"columns":["email"]}',
    sealed: true,
    total: 3,
    admitted: 3,
    at: AT,
    ...more,
  };
}

/** A wait for the event that the key names; what follows a slash tells several waits of one event apart. */
export function newWait(key: string, more: Partial<NewWait> = {}): NewWait {
  return {
    key: digest(key),
    kind: 'event',
    label: key,
    path: 'email',
    inputDigest: digest(`input of ${key}`),
    event: key.split('/')[0] ?? key,
    rowKey: null,
    deadline: null,
    policy: 'null',
    armedAt: AT,
    ...more,
  };
}

export function newSignal(event: string, more: Partial<NewSignal> = {}): NewSignal {
  return { runId: 'run_1', event, rowKey: null, waitNo: null, all: false, data: '{"é":1}', at: AT + 50, ...more };
}

export function operationRecord(call: string, more: Partial<OperationRecord> = {}): OperationRecord {
  return {
    callId: digest(call),
    site: digest(`site of ${call}`),
    path: 'email',
    label: call,
    tool: 'mail.send',
    inputDigest: digest(`input of ${call}`),
    operationKey: `key of ${call}`,
    state: 'intended',
    tries: 1,
    refusals: 0,
    waitUntil: null,
    answer: null,
    batch: null,
    at: AT,
    ...more,
  };
}

export const RUN_PLACE: Place = { datasetNo: 0, ordinal: 0 };

export function row(ordinal: number, datasetNo = 1): Place {
  return { datasetNo, ordinal };
}

/** Arms a wait, and returns what stands. */
export async function armed(
  store: Store,
  of: { readonly fence: Fence; readonly place?: Place; readonly wait: NewWait },
): Promise<WaitRecord> {
  const write: WriteOf<'arm'> = { kind: 'arm', fence: of.fence, place: of.place ?? RUN_PLACE, wait: of.wait };
  await committed(store, write);
  if (write.stored === undefined) throw new Error('nothing was assigned');
  return write.stored;
}

export async function expired(
  store: Store,
  of: {
    readonly fence: Fence;
    readonly place?: Place;
    readonly key: string;
    readonly at: number;
    readonly dropped?: true;
  },
): Promise<WaitRecord> {
  const { fence, place = RUN_PLACE, key, at, dropped } = of;
  const ends = dropped === undefined ? {} : { dropped };
  const write: WriteOf<'expire'> = { kind: 'expire', fence, place, key: digest(key), at, ...ends };
  await committed(store, write);
  if (write.stored === undefined) throw new Error('nothing was assigned');
  return write.stored;
}

export async function signalled(store: Store, signal: NewSignal): Promise<SignalOutcome> {
  const write: WriteOf<'signal'> = { kind: 'signal', signal };
  await committed(store, write);
  if (write.outcome === undefined) throw new Error('nothing was assigned');
  return write.outcome;
}

/** Ends the attempt in a state; waiting has no wake-up unless `more` says so. */
export function ended(fence: Fence, status: RunStatus, more: Partial<WriteOf<'runState'>> = {}): Write {
  return { kind: 'runState', fence, status, at: AT + 10, error: null, result: null, wakeAt: null, ...more };
}

export function lease(runId: string, attempt: number, more: { now?: number; takeOver?: boolean } = {}): Write {
  const now = more.now ?? AT;
  return {
    kind: 'lease',
    runId,
    attempt,
    owner: `host/${attempt}`,
    now,
    until: now + 15_000,
    takeOver: more.takeOver ?? false,
  };
}

/** Commits one unit; throws its error. */
export async function committed(store: Store, ...unit: Write[]): Promise<void> {
  const [outcome] = await store.commit([unit]);
  if (outcome?.ok === false) throw outcome.error;
}

/** Commits one receipt and returns its id. */
export async function bought(store: Store, receipt: NewReceipt): Promise<number> {
  const write: Write = { kind: 'receipt', receipt };
  await committed(store, write);
  return write.id ?? 0;
}

/** Makes a run with its first attempt, and returns what fences it. */
export async function startedRun(store: Store, id = 'run_1', more: Partial<NewRun> = {}): Promise<Fence> {
  const write: Write = { kind: 'run', run: newRun(id, more) };
  await committed(store, write, lease(id, 1));
  return { runNo: write.no ?? 0, attempt: 1 };
}
