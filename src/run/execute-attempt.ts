import { releasedClaims } from '../dataset/index.ts';
import type { EventHub } from '../observe/index.ts';
import { CallsheetError, RunFatalError, StaleAttemptError } from '../sdk/index.ts';
import type { RunRecord, RunStatus } from '../store/index.ts';
import { asFatal, runAttempt } from './attempt.ts';
import type { AttemptView, RunDeps } from './attempt-context.ts';
import { type Ending, HEARTBEAT_MS, LEASE_MS, Lease, LOOK_MS } from './ending.ts';
import { type Outcome, outcomeOf } from './outcome.ts';

export interface AttemptOrder {
  readonly runId: string;
  /** Who works: `host:pid:start`, so that others can tell whether it is still there. */
  readonly owner: string;
  /** The lease of an owner that is provably gone may be taken before it runs out. */
  readonly takeOver: boolean;
  readonly ending: Ending;
  readonly hub: EventHub;
  readonly onView?: (view: AttemptView) => void;
  /** An interrupted run goes back to whoever works on due runs, instead of being left to who stopped it. */
  readonly handsBack?: boolean;
}

/**
 * Takes the lease of a run, makes one attempt and writes down how it ended; where it is to end before it has begun, none of
 * the play is run. Rejects only where no attempt was made.
 */
export async function executeAttempt(deps: RunDeps, order: AttemptOrder): Promise<Outcome> {
  const { ending, hub, onView } = order;
  const { run, lease } = await takeLease(deps, order);
  if (run.cancelRequested) ending.cancel();
  const stopHeart = startHeart(deps, { run, lease, ending });
  try {
    const outcome =
      ending.reason === undefined
        ? await runAttempt(deps, { run, lease, ending, hub, ...(onView && { onView }) })
        : outcomeOf({ kind: 'pending' }, ending.reason);
    if (outcome.kind === 'interrupted' && outcome.lapsed === true) {
      // From here on it must not take the lease again.
      stopHeart();
      return await giveUp(deps, run, outcome);
    }
    return await writeOutcome(deps, { run, handsBack: order.handsBack === true }, outcome);
  } finally {
    stopHeart();
  }
}

async function takeLease(deps: RunDeps, order: AttemptOrder): Promise<{ run: RunRecord; lease: Lease }> {
  const { runId, owner, takeOver } = order;
  const before = await deps.store.runs.run(runId);
  if (before === undefined)
    throw new CallsheetError('RUN_NOT_FOUND', `There is no run ${runId} in this workspace.`, {
      next: ['callsheet runs list'],
    });
  const now = deps.clock.now();
  const lease = new Lease(deps.clock, order.ending);
  await deps.committer.commit([
    { kind: 'lease', runId, attempt: before.attempt + 1, owner, now, until: now + LEASE_MS, takeOver },
  ]);
  const run = await deps.store.runs.run(runId);
  if (run === undefined || run.owner !== owner) throw new StaleAttemptError(`Another process took over ${runId}.`);
  return { run, lease };
}

/** Looks each second whether somebody wants the run cancelled, and renews the lease when it is time to. */
function startHeart(deps: RunDeps, parts: { run: RunRecord; lease: Lease; ending: Ending }): () => void {
  const { run, lease, ending } = parts;
  const { clock, committer, store } = deps;
  const fence = { runNo: run.no, attempt: run.attempt };
  let stop = (): void => {};
  let renewed = clock.monotonic();
  const beat = async (): Promise<void> => {
    const now = clock.monotonic();
    try {
      if (now - renewed >= HEARTBEAT_MS) {
        await committer.commit([{ kind: 'heartbeat', fence, until: clock.now() + LEASE_MS }]);
        lease.renewed(now);
        renewed = now;
      }
      if ((await store.runs.run(run.id))?.cancelRequested === true) ending.cancel();
    } catch (error) {
      // A store that cannot be written now may be well again before the lease is over; a stale attempt is final.
      if (error instanceof StaleAttemptError) ending.fatal(error);
    }
  };
  let stopped = false;
  const schedule = (): void => {
    if (stopped) return;
    stop = clock.after(LOOK_MS, () => {
      void beat().then(schedule);
    });
  };
  schedule();
  return () => {
    stopped = true;
    stop();
  };
}

/**
 * After a lapse: gives back whatever is left of the lease, and the run stays `running` with nobody on it, as a killed
 * process leaves it. Fails with STALE_ATTEMPT where another attempt has the run.
 */
async function giveUp(deps: RunDeps, run: RunRecord, lapsed: Outcome): Promise<Outcome> {
  const fence = { runNo: run.no, attempt: run.attempt };
  try {
    await deps.committer.commit([{ kind: 'heartbeat', fence, until: deps.clock.now() }]);
    return lapsed;
  } catch (error) {
    return { kind: 'failed', error: asFatal(error) };
  }
}

const STATUS: Readonly<Record<Outcome['kind'], RunStatus>> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  interrupted: 'running',
  suspended: 'waiting',
};

/** Writes how the attempt ended; a failed write is itself how it ended. */
async function writeOutcome(
  deps: RunDeps,
  { run, handsBack }: { readonly run: RunRecord; readonly handsBack: boolean },
  outcome: Outcome,
): Promise<Outcome> {
  const isBack = outcome.kind === 'interrupted' && handsBack;
  const at = deps.clock.now();
  const fence = { runNo: run.no, attempt: run.attempt };
  try {
    const releases = outcome.kind === 'failed' || outcome.kind === 'cancelled';
    await deps.committer.commit([
      ...(releases ? await releasedClaims(deps.store.datasets, { runNo: run.no, play: run.play, fence }) : []),
      {
        kind: 'runState',
        fence,
        status: isBack ? 'queued' : STATUS[outcome.kind],
        at,
        error: outcome.kind === 'failed' ? errorText(outcome.error) : null,
        result: outcome.kind === 'completed' ? JSON.stringify(outcome.result) : null,
        wakeAt: outcome.kind === 'suspended' ? outcome.wakeAt : isBack ? at : null,
        ...(outcome.kind === 'suspended' && { seenSignal: outcome.seenSignal }),
      },
    ]);
    return outcome;
  } catch (error) {
    if (outcome.kind === 'failed') return outcome;
    return { kind: 'failed', error: asFatal(error) };
  }
}

function errorText(error: CallsheetError): string {
  const { code, message, details, next } = error;
  return JSON.stringify({ code, message, details, next, fatal: error instanceof RunFatalError });
}
