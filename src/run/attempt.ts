import { CallCounters, type EventHub, type ObservedEvent, Timings } from '../observe/index.ts';
import { durationMs, fatalForm, Scope } from '../scope/index.ts';
import { type Play, RunFatalError } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import { attemptCalls } from './attempt-calls.ts';
import { type AttemptContext, type AttemptView, isReplay, type RunDeps } from './attempt-context.ts';
import { openState } from './attempt-state.ts';
import { ChildKeys } from './child-keys.ts';
import { ancestryOf } from './child-run.ts';
import { captureConsole } from './console.ts';
import { playCtx, rowCtx } from './ctx.ts';
import { Datasets } from './datasets.ts';
import { deepFrozen } from './deep-frozen.ts';
import type { Ending, Lease } from './ending.ts';
import { type Outcome, outcomeOf, type Settled, type Suspended } from './outcome.ts';
import { startProgress } from './progress.ts';
import { asResult } from './result.ts';
import type { RunOptions } from './run-options.ts';
import { catchStrays } from './strays.ts';
import { Suspension } from './suspension.ts';

export interface AttemptParts {
  readonly run: RunRecord;
  readonly ending: Ending;
  readonly lease: Lease;
  readonly hub: EventHub;
  /** Told once the attempt can be looked at. */
  readonly onView?: (view: AttemptView) => void;
}

/** One pass over the play's code under a lease that is already held. Never rejects: every end is an outcome. */
export async function runAttempt(deps: RunDeps, parts: AttemptParts): Promise<Outcome> {
  const { ending } = parts;
  let settled: Settled = { kind: 'pending' };
  let stopProgress = (): void => {};
  let view: AttemptView | undefined;
  try {
    await deps.calls.rescue.prepare(parts.run.id);
    const prepared = await prepare(deps, parts);
    const { play } = prepared;
    ({ view } = prepared);
    parts.onView?.(view);
    stopProgress = startProgress(view);
    settled = await runPlay(view.context, play);
    if (settled.kind === 'returned') tellUnawaited(view.context);
  } catch (error) {
    settled = { kind: 'threw', error };
  }
  ending.finish();
  await ending.quiet(deps.clock);
  stopProgress();
  const context = view?.context;
  context?.parked.close();
  await drain(deps, ending);
  context?.closeBudget();
  deps.calls.rescue.release(parts.run.id);
  return outcomeOf(settled, ending.reason, context === undefined ? undefined : await suspended(context));
}

/** What the run waits for, where that is how the attempt ended. */
async function suspended({ deps, run, ending, parked }: AttemptContext): Promise<Suspended | undefined> {
  if (ending.reason?.kind !== 'suspended') return undefined;
  const { seenSignal } = parked;
  try {
    const { wakeAt, events } = await deps.store.runs.openWaits(run.no);
    return { kind: 'suspended', wakeAt: ending.gate.wantsMore ? deps.clock.now() : wakeAt, events, seenSignal };
  } catch (error) {
    ending.fatal(asFatal(error));
    return undefined;
  }
}

/** Nothing reaches the author's code any more, and all that it did is durable. */
async function drain(deps: RunDeps, ending: Ending): Promise<void> {
  ending.close();
  try {
    await deps.committer.flush();
  } catch (error) {
    ending.fatal(asFatal(error));
  }
}

/** A failed write of the attempt's own state is how the attempt ended. */
export function asFatal(error: unknown): RunFatalError {
  return fatalForm(
    error,
    (told) => new RunFatalError('INTERNAL', `A fault of Callsheet itself: ${told}`, { cause: error }),
  );
}

async function prepare(deps: RunDeps, parts: AttemptParts): Promise<{ play: Play; view: AttemptView }> {
  const { run } = parts;
  const options = JSON.parse(run.options) as RunOptions;
  const { play, all } = await deps.openArtifact(run.artifact, options.exportName ?? undefined);
  const context = await contextOf(deps, parts, { play, plays: all, options });
  return { play, view: context };
}

async function contextOf(
  deps: RunDeps,
  parts: AttemptParts,
  { play, plays, options }: { play: Play; plays: readonly Play[]; options: RunOptions },
): Promise<AttemptView> {
  const { run, ending } = parts;
  const attempt = run.attempt;
  const emit = emitter(deps, run, parts.hub);
  const counters = new CallCounters();
  const timings = new Timings();
  if (isReplay(run)) counters.paidBefore(await deps.store.report.toolTotals(run.no));
  const state = await openState(deps, { run, options });
  const { boundaries, waits, parked } = state;
  const suspension = new Suspension(ending, deps.clock, parked);
  const calls = attemptCalls(deps, { ...parts, options, emit, counters, state, suspension, timings });
  const context: AttemptContext = {
    deps,
    run,
    attempt,
    options,
    scope: Scope.ofRun({ runId: run.id, seed: run.seed, fence: { runNo: run.no, attempt }, gate: ending.gate }),
    ending,
    calls,
    boundaries,
    waits,
    suspension,
    parked,
    datasets: new Datasets(() => context, rowCtx),
    plays,
    ancestry: await ancestryOf(deps.store.runs, run),
    children: new ChildKeys(),
    closeBudget: () => {
      calls.openJobs.close();
      state.journal.close();
      state.tries.close();
      state.budget.close();
    },
    secrets: play.options.secrets ?? [],
    files: { largest: 0 },
    input: deepFrozen(JSON.parse(run.input)),
    emit,
  };
  return { context, counters, timings };
}

function emitter(deps: RunDeps, run: RunRecord, hub: EventHub): AttemptContext['emit'] {
  return (partial) => {
    const event: ObservedEvent = {
      at: deps.clock.now(),
      level: 'info',
      datasetNo: null,
      ordinal: null,
      data: null,
      ...partial,
    };
    hub.emit(event);
    deps.committer.defer([{ kind: 'event', runNo: run.no, event }]);
  };
}

async function runPlay(context: AttemptContext, play: Play): Promise<Settled> {
  const { ending, emit } = context;
  const releaseConsole = captureConsole((level, message) => emit({ type: 'console', level, message }));
  const cancelTimer = playTimer(context, play);
  const releaseStrays = catchStrays(({ kind, error }) => tellStray(context, kind, error));
  const running = (async (): Promise<Settled> => {
    try {
      const returned = await play(playCtx(context) as never, context.input);
      // A run is not complete before the datasets that it started are, awaited by the play or not.
      await context.datasets.settled();
      return { kind: 'returned', result: asResult(returned) };
    } catch (error) {
      return { kind: 'threw', error };
    }
  })();
  try {
    return await Promise.race([running, ending.decided.then((): Settled => ({ kind: 'pending' }))]);
  } finally {
    cancelTimer();
    releaseConsole();
    // Promises that were cut loose reject in the turns after this one.
    context.deps.clock.after(0, releaseStrays);
  }
}

function tellUnawaited({ ending, emit }: AttemptContext): void {
  const { inFlight } = ending.gate;
  if (inFlight === 0) return;
  emit({
    type: 'play.unawaited',
    level: 'warn',
    message: `The play returned before ${inFlight} of its calls had ended: those that are out are recorded, the others are not made.`,
  });
}

function tellStray(context: AttemptContext, kind: 'rejection' | 'exception', error: unknown): void {
  const told = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (kind === 'rejection') {
    context.emit({
      type: 'play.unawaited',
      level: 'warn',
      message: `Something that the play did not await failed: ${told}`,
    });
    return;
  }
  context.ending.fatal(
    new RunFatalError('PLAY_THREW', `Code of the play threw outside every promise: ${told}`, {
      next: ['Mend the play and run it again: what is recorded is not bought again.'],
      cause: error,
    }),
  );
}

/** `runtime.timeout`: how long one attempt of the play may take. */
function playTimer(context: AttemptContext, play: Play): () => void {
  const timeout = play.options.runtime?.timeout;
  const ms = timeout === undefined ? undefined : durationMs(timeout);
  if (ms === undefined) return () => {};
  return context.deps.clock.after(ms, () => {
    context.ending.fatal(
      new RunFatalError('PLAY_TIMEOUT', `The play ran longer than its runtime.timeout of ${timeout}.`, {
        details: { timeout },
        next: [`callsheet runs resume ${context.run.id}`],
      }),
    );
  });
}
