import { type Clock, type Fence, Gate, Scope, VirtualClock } from '../scope/index.ts';
import type { RowCtx, RunFatalError } from '../sdk/index.ts';
import {
  type Committer,
  createCommitter,
  type DatasetReads,
  MemoryStore,
  type NewRun,
  type RowRecord,
  type Store,
  type Unit,
  type UnitOutcome,
  type Write,
} from '../store/index.ts';
import type { DatasetHost, DatasetProgress } from './host.ts';
import { RunDatasets } from './registry.ts';

/** The memory twin, and what tests ask of it. */
export class TestStore {
  readonly memory = new MemoryStore();
  /** Refuses writes of these kinds with these errors. */
  readonly refuse = new Map<Write['kind'], unknown>();
  readonly written: Write[] = [];

  async commit(units: readonly Unit[]): Promise<readonly UnitOutcome[]> {
    const outcomes: UnitOutcome[] = [];
    for (const unit of units) {
      const refused = unit.find((write) => this.refuse.has(write.kind));
      if (refused !== undefined) outcomes.push({ ok: false, error: this.refuse.get(refused.kind) });
      else outcomes.push(...(await this.memory.commit([unit])));
      if (refused === undefined) this.written.push(...unit);
    }
    return outcomes;
  }

  /** Makes the run where it is new, and takes its lease for this attempt. */
  begin(runNo: number, attempt: number, play: string): void {
    const now = Date.parse('2026-01-01');
    const id = `run_${runNo}`;
    const lease = { runId: id, owner: `attempt ${attempt}`, now, until: now + 1e9, takeOver: true };
    // The memory store commits before it returns.
    if (attempt === 1) void this.memory.commit([[{ kind: 'run', run: newRun(id, play) }]]);
    void this.memory.commit([[{ kind: 'lease', attempt, ...lease }]]);
  }

  get reads(): DatasetReads {
    return this.memory.datasets;
  }

  async recorded(runNo = 1, datasetNo = 1): Promise<readonly RowRecord[]> {
    const all: RowRecord[] = [];
    for (let from = 0; ; ) {
      const rows = await this.reads.rows(runNo, datasetNo, { from, to: 1e9, maxBytes: 1e9 });
      all.push(...rows);
      const last = rows.at(-1);
      if (last === undefined) return all;
      from = last.ordinal + 1;
    }
  }
}

function newRun(id: string, play: string): NewRun {
  return {
    id,
    play,
    artifact: 'artifact',
    input: '{}',
    options: '{}',
    seed: 'seed',
    identityFormat: 1,
    createdAt: 0,
    rootRunId: id,
    parentRunId: null,
    replayedFrom: null,
    idempotencyKey: null,
    wakeAt: null,
  };
}

export interface TestRun {
  readonly host: DatasetHost;
  readonly store: TestStore;
  readonly clock: VirtualClock;
  readonly events: { readonly type: string; readonly message: string; readonly data?: string | undefined }[];
  readonly progress: DatasetProgress[];
  readonly fatal: RunFatalError[];
  /** Rows whose journal was loaded. */
  readonly prepared: number[];
  /** Gates of rows, in order of their start, with what parks them. */
  readonly gates: { readonly gate: Gate; readonly suspended: () => void }[];
  /** What the dataset said of whether it can go on by itself. */
  readonly busy: readonly boolean[];
  /** Rows whose parked record is durable, in that order. */
  readonly parked: readonly number[];
  /** Brings a parked row back. */
  wake(ordinal: number): void;
  /** Ends the attempt: no further row starts. */
  stop(): void;
  /** Resolves when nothing goes on without a clock or a person. */
  idle(): Promise<void>;
}

export interface TestRunOptions {
  readonly store?: TestStore;
  readonly runNo?: number;
  readonly attempt?: number;
  readonly play?: string;
  readonly concurrency?: number;
  readonly maxBytesInFlight?: number;
  readonly filesDir?: string;
  readonly retryFailed?: boolean;
  /** Parked rows that still wait. */
  readonly stillWaiting?: readonly number[];
  readonly rowCtx?: (scope: Scope) => RowCtx;
  readonly credits?: (ordinal: number) => number;
  readonly scope?: (run: Scope) => Scope;
}

/** An attempt of a run around the dataset room, with a clock that only tests move. */
export function testRun(options: TestRunOptions = {}): TestRun {
  const store = options.store ?? new TestStore();
  const { runNo = 1, play = 'test-play', attempt = 1 } = options;
  const clock = new VirtualClock();
  store.begin(runNo, attempt, play);
  const fence: Fence = { runNo, attempt };
  const scope = Scope.ofRun({ runId: `run_${runNo}`, seed: 'seed', fence, gate: new Gate() });
  const run = { store, clock, ...nothingSeen() };
  let admitting = true;
  const halt = new AbortController();
  const host: DatasetHost = {
    runNo,
    play,
    fence,
    reads: store.reads,
    committer: committerOf(store, turnClock(clock)),
    clock,
    filesDir: options.filesDir ?? '/nowhere',
    scope: options.scope?.(scope) ?? scope,
    concurrency: options.concurrency ?? 64,
    maxBytesInFlight: options.maxBytesInFlight ?? 64_000_000,
    replay: attempt > 1,
    retryFailed: options.retryFailed ?? false,
    datasets: new RunDatasets(),
    started: (running) => void running.catch(() => {}),
    rowCtx: options.rowCtx ?? ((at) => ({ path: at.path }) as unknown as RowCtx),
    openRow: (suspended) => {
      const gate = new Gate();
      run.gates.push({ gate, suspended });
      return gate;
    },
    closeRow: () => {},
    admitting: () => admitting,
    waiting: waitingOf(run, halt.signal, options.stillWaiting),
    fatal: () => run.fatal.length > 0,
    prepareRows: async (_no, ordinals) => void run.prepared.push(...ordinals),
    raiseFatal: (error) => {
      run.fatal.push(error);
      admitting = false;
    },
    takeRowCredits: (_no, ordinal) => options.credits?.(ordinal) ?? 0,
    event: (event) => run.events.push(event),
    progress: (snapshot) => run.progress.push(snapshot()),
  };
  return {
    ...run,
    host,
    wake: (ordinal) => run.wake(ordinal),
    stop: () => {
      admitting = false;
      halt.abort();
    },
    idle: () => turns(),
  };
}

function nothingSeen() {
  return {
    events: [] as TestRun['events'],
    progress: [] as DatasetProgress[],
    fatal: [] as RunFatalError[],
    prepared: [] as number[],
    gates: [] as TestRun['gates'],
    busy: [] as boolean[],
    parked: [] as number[],
    wake: (_ordinal: number): void => {},
  };
}

function waitingOf(
  run: { readonly busy: boolean[]; readonly parked: number[]; wake: (ordinal: number) => void },
  halt: AbortSignal,
  stillWaiting: readonly number[] | undefined,
): DatasetHost['waiting'] {
  return {
    halt,
    stepGraceMs: 1_000,
    busy: (isBusy) => void run.busy.push(isBusy),
    rests: () => {},
    onWake: (_no, wake) => {
      run.wake = wake;
    },
    parked: ({ ordinal }) => void run.parked.push(ordinal),
    ended: () => {},
    ...(stillWaiting && {
      still: async (_no: number, ordinals: readonly number[]) =>
        new Set(ordinals.filter((ordinal) => stillWaiting.includes(ordinal))),
    }),
  };
}

function committerOf(store: TestStore, clock: Clock): Committer {
  return createCommitter({ commit: (units) => store.commit(units) } as Store, { clock });
}

/** Deferred groups go out at the end of the turn, so that no test has to move the clock for them. */
function turnClock(clock: VirtualClock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (_ms, fn) => {
      const handle = setImmediate(fn);
      return () => clearImmediate(handle);
    },
  };
}

/** Lets everything that is not waiting for a clock or a person come to its end. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
