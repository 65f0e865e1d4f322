import { digest, type Fence } from '../../scope/index.ts';
import type { BoundaryEntry, CallEntry, FrameRecord, NewReceipt, NewRun, RowRecord, Store, Write } from '../port.ts';

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
    inputDigest: digest(`input of ${key}`),
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
