import {
  Batches,
  type CallRun,
  Journal,
  OpenJobs,
  OpenTries,
  type PlannedCall,
  Planning,
  Rereads,
  Settlements,
} from '../call/index.ts';
import type { DatasetProgress } from '../dataset/index.ts';
import { createBudget, createRetryBudget } from '../governor/index.ts';
import { CallCounters } from '../observe/index.ts';
import { type Fence, Halted, Scope } from '../scope/index.ts';
import type { JsonValue, Play } from '../sdk/index.ts';
import { createCommitter, MemoryStore, type RunRecord } from '../store/index.ts';
import type { AttemptContext, RunDeps } from './attempt-context.ts';
import { Boundaries } from './boundary.ts';
import { ChildKeys } from './child-keys.ts';
import { captureConsole } from './console.ts';
import { playCtx, rowCtx } from './ctx.ts';
import { Datasets } from './datasets.ts';
import { Ending } from './ending.ts';
import { ParkedRows } from './parked.ts';
import { type RowsCut, rowsCut } from './plan-cuts.ts';
import type { RunOptions } from './run-options.ts';
import { Suspension } from './suspension.ts';
import { Waits } from './waits.ts';

export interface PlanOrder {
  readonly play: Play;
  /** Every play that its code holds. */
  readonly plays: readonly Play[];
  readonly input: JsonValue;
  readonly options: RunOptions;
}

/** What a play would do, as far as stored answers lead. Nothing was sent and nothing recorded. */
export interface PlanCounts {
  readonly datasets: readonly (DatasetProgress & {
    readonly columns: readonly { readonly name: string; readonly legs: readonly string[] }[];
  })[];
  /** Calls that would be bought. */
  readonly fresh: readonly PlannedCall[];
  /** Calls that receipts answer. */
  readonly answered: readonly {
    readonly datasetNo: number;
    readonly path: string;
    readonly tool: string;
    readonly calls: number;
  }[];
  /** Rows that could not be followed to their end, by where they stand. */
  readonly cut: readonly RowsCut[];
  /** Where the play could not be followed further, for people; empty where it was followed to its end. */
  readonly stops: readonly string[];
  /** True where the play itself, outside rows, came no further: whatever comes after that is not counted. */
  readonly isCutShort: boolean;
  /** Rows of the largest file that was read, whatever part of it was planned. */
  readonly largestFile: number;
  /** Why the play itself failed while it was planned, if it did. */
  readonly error: unknown;
}

/**
 * Runs the play in planning mode: calls that receipts answer get their answers; a call without one is counted and stays
 * pending, and so does a step or fetch that is not kept. State goes to a store in memory that is thrown away.
 */
export async function planAttempt(deps: RunDeps, order: PlanOrder): Promise<PlanCounts> {
  const store = new MemoryStore();
  const committer = createCommitter(store, { clock: deps.clock });
  const run = await planRecord(deps, store, order);
  const ending = new Ending();
  const stops = new Set<string>();
  const planning = new Planning((scope) => {
    if (scope.inRow) return ending.suspendRow(scope.gate);
    stops.add(`a call outside datasets that nothing answers yet (${scope.path || 'in the play itself'})`);
    ending.interrupt();
  });
  const answered = new Map<string, { datasetNo: number; path: string; tool: string; calls: number }>();
  const context = planContext({ deps: { ...deps, store, committer }, order, run, ending, planning, answered, stops });
  let error: unknown;
  // What the play says while it is planned, it says again when it runs.
  const releaseConsole = captureConsole(() => {});
  const playing = (async (): Promise<void> => {
    try {
      await order.play(playCtx(context) as never, order.input);
      await context.datasets.settled();
    } catch (thrown) {
      error = thrown;
    }
  })();
  await Promise.race([playing, ending.decided]);
  ending.finish();
  await ending.idle(deps.clock);
  ending.close();
  releaseConsole();
  if (ending.reason?.kind === 'fatal') error = ending.reason.error;
  await committer.flush();
  const frames = await store.datasets.frames(run.no);
  return {
    datasets: context.datasets.progress().map((progress) => {
      const frame = frames.find((one) => one.datasetNo === progress.datasetNo);
      const { columns } = JSON.parse(frame?.plan ?? '{"columns":[]}') as {
        columns: { name: string; legs: string[] }[];
      };
      return { ...progress, columns };
    }),
    fresh: planning.calls(),
    answered: [...answered.values()],
    cut: await rowsCut(planning.cuts(), store.calls, run.no),
    isCutShort: ending.reason?.kind === 'interrupted',
    stops: [...stops],
    largestFile: context.files.largest,
    error,
  };
}

async function planRecord(deps: RunDeps, store: MemoryStore, { play, input, options }: PlanOrder): Promise<RunRecord> {
  const now = deps.clock.now();
  const id = 'plan';
  const write = {
    kind: 'run' as const,
    run: {
      id,
      play: play.name,
      artifact: '',
      input: JSON.stringify(input),
      options: JSON.stringify(options),
      seed: 'plan',
      identityFormat: 1,
      createdAt: now,
      rootRunId: id,
      parentRunId: null,
      replayedFrom: null,
      idempotencyKey: null,
      wakeAt: null,
    },
  };
  const lease = {
    kind: 'lease' as const,
    runId: id,
    attempt: 1,
    owner: 'plan',
    now,
    until: now + 86_400_000,
    takeOver: false,
  };
  await store.commit([[write, lease]]);
  const run = await store.runs.run(id);
  if (run === undefined) throw new Error('the store in memory lost a run');
  return run;
}

interface PlanParts {
  readonly deps: RunDeps;
  readonly order: PlanOrder;
  readonly run: RunRecord;
  readonly ending: Ending;
  readonly planning: Planning;
  readonly answered: Map<string, { datasetNo: number; path: string; tool: string; calls: number }>;
  readonly stops: Set<string>;
}

function planContext(parts: PlanParts): AttemptContext {
  const { deps, order, run, ending, stops, planning } = parts;
  const fence = { runNo: run.no, attempt: 1 };
  const parked = new ParkedRows(deps.store.runs, deps.clock, run.no);
  const context: AttemptContext = {
    deps,
    run,
    attempt: 1,
    options: order.options,
    scope: Scope.ofRun({ runId: run.id, seed: run.seed, fence, gate: ending.gate }),
    ending,
    calls: planCalls(parts, fence),
    boundaries: new Boundaries(deps.store.runs, deps.committer, run.no),
    waits: new Waits(deps.store.runs, deps.committer, run.no),
    suspension: new Suspension(ending, deps.clock, parked),
    parked,
    datasets: new Datasets(() => context, rowCtx),
    plays: order.plays,
    ancestry: [order.play.name],
    children: new ChildKeys(),
    closeBudget: () => {},
    secrets: order.play.options.secrets ?? [],
    input: order.input,
    planning: (kind, label, scope) => {
      stops.add(`${kind} '${label}'`);
      planning.stopped(scope, kind);
      if (scope.inRow) ending.suspendRow(scope.gate);
      else ending.interrupt();
      throw new Halted('a plan runs nothing');
    },
    files: { largest: 0 },
    emit: () => {},
  };
  return context;
}

function planCalls(parts: PlanParts, fence: Fence): CallRun {
  const { deps, order, run, ending, planning, answered } = parts;
  const counters = new CallCounters();
  return {
    // Answers are read from the workspace; what is journalled goes to the store in memory.
    process: { ...deps.calls, committer: deps.committer },
    runId: run.id,
    runNo: run.no,
    play: run.play,
    fence,
    startedAt: deps.clock.now(),
    refresh: order.options.refresh === 'all' ? 'all' : new Set(order.options.refresh),
    journal: new Journal(deps.store.calls, run.no),
    batches: new Batches(),
    openJobs: new OpenJobs(),
    tries: new OpenTries(undefined, { id: run.id, rootId: run.id }),
    settlements: new Settlements(),
    budget: createBudget({ runId: run.id }),
    retries: createRetryBudget(),
    rereads: new Rereads(deps.calls.rereadSecret),
    signal: ending.kill,
    halt: ending.halt,
    planning,
    assertGoing: () => ending.assertGoing(),
    putOff: () => Promise.resolve(),
    raiseFatal: (error) => ending.fatal(error),
    event: () => {},
    timed: () => {},
    ended: (call) => {
      counters.add(call);
      if (call.outcome === 'failed') return;
      const id = `${call.datasetNo}|${call.path}|${call.tool}`;
      const before = answered.get(id) ?? { datasetNo: call.datasetNo, path: call.path, tool: call.tool, calls: 0 };
      answered.set(id, { ...before, calls: before.calls + 1 });
    },
  };
}
