import { releasedClaims } from '../../dataset/index.ts';
import { EventHub } from '../../observe/index.ts';
import { type AttemptView, Ending, executeAttempt, IN_PLACE_MS, type Outcome, type RunDeps } from '../../run/index.ts';
import { sleep } from '../../scope/index.ts';
import { CallsheetError, StaleAttemptError } from '../../sdk/index.ts';
import { type RunRecord, StoreConflict } from '../../store/index.ts';
import type { Engine, RunInProgress, StartOrder } from '../port.ts';
import { isGone, thisOwner } from './owner.ts';

/** A run that this process works on: the attempt that is made now, or the pause before the next. */
interface InHand {
  readonly runId: string;
  readonly hub: EventHub;
  readonly begun: PromiseWithResolvers<void>;
  ending: Ending;
  view: AttemptView | undefined;
  /** Attempts that lost their lease one after the other before any of them had made a call. */
  lapses: number;
}

/** The engine of one machine: works on runs in this process, and takes over what a dead process of this machine left. */
export class LocalEngine implements Engine {
  readonly #deps: RunDeps;
  readonly #owner = thisOwner();
  #attempts = 0;

  constructor(deps: RunDeps) {
    this.#deps = deps;
  }

  async start(runId: string, order: StartOrder = {}): Promise<RunInProgress> {
    const run = await this.#run(runId);
    if (this.#isHeld(run)) throw held(run);
    const begun = Promise.withResolvers<void>();
    const now: InHand = { runId, hub: new EventHub(), begun, ending: new Ending(), view: undefined, lapses: 0 };
    const outcome = this.#work(now, order);
    outcome.then(
      () => begun.resolve(),
      () => {},
    );
    const { hub } = now;
    return {
      runId,
      outcome,
      hub,
      begun: begun.promise,
      view: () => now.view,
      interrupt: () => interrupt(now.ending),
    };
  }

  /** Attempts, one after the other while the run is due again at once. */
  async #work(now: InHand, order: StartOrder): Promise<Outcome> {
    let outcome = await this.#attempt(now, order);
    while (await this.#isDueAgain(now, outcome)) {
      try {
        outcome = await this.#attempt(now, { handsBack: order.handsBack === true });
      } catch (error) {
        // Somebody else took it up in the pause: for this process it ended with the wait.
        const isHeld = error instanceof CallsheetError && error.code === 'RUN_HELD';
        if (isHeld && outcome.kind === 'suspended') break;
        throw error;
      }
    }
    return outcome;
  }

  /** True once the time of a short wait is over, unless the pause was interrupted; and at once after a lapse of the lease. */
  async #isDueAgain(now: InHand, outcome: Outcome): Promise<boolean> {
    if (outcome.kind === 'interrupted' && outcome.lapsed === true) {
      afterLapse(now);
      return true;
    }
    if (outcome.kind !== 'suspended' || now.ending.kill.aborted) return false;
    const { wakeAt } = await this.#run(now.runId);
    const left = (wakeAt ?? Number.POSITIVE_INFINITY) - this.#deps.clock.now();
    if (left > IN_PLACE_MS) return false;
    now.ending = new Ending();
    if (left > 0) await sleep(this.#deps.clock, left, now.ending.halt).catch(() => {});
    return now.ending.going;
  }

  async #attempt(now: InHand, { after, handsBack = false }: StartOrder): Promise<Outcome> {
    const { runId, ending, hub } = now;
    const run = await this.#run(runId);
    if (after !== undefined && run.attempt !== after) throw held(run);
    // One process may work on a run more than once in its life, so the attempt's number is part of its name.
    const owner = `${this.#owner}|${++this.#attempts}`;
    const takeOver = run.owner !== null && isGone(run.owner);
    const onView = (seen: AttemptView): void => {
      now.view = seen;
      now.begun.resolve();
    };
    try {
      return await executeAttempt(this.#deps, {
        runId,
        owner,
        takeOver,
        ending,
        hub,
        onView,
        handsBack,
      });
    } catch (error) {
      if (isOvertaken(error)) throw held(await this.#run(runId));
      throw error;
    }
  }

  async cancel(runId: string): Promise<'asked' | 'cancelled'> {
    for (;;) {
      const before = await this.#run(runId);
      if (isFinished(before)) throw finished(before);
      await this.#deps.committer.commit([{ kind: 'cancel', runId }]);
      // Looked at again: somebody may have begun or ended it in the meantime.
      const run = await this.#run(runId);
      if (this.#isHeld(run)) return 'asked';
      if (!isFinished(run) && (await this.#endCancelled(run))) return 'cancelled';
    }
  }

  /** Ends a run that nobody works on; false where somebody has just begun to. */
  async #endCancelled(run: RunRecord): Promise<boolean> {
    const { committer, clock, store } = this.#deps;
    const now = clock.now();
    const attempt = run.attempt + 1;
    const takeOver = run.owner !== null && isGone(run.owner);
    const owner = `${this.#owner}|cancel`;
    const fence = { runNo: run.no, attempt };
    try {
      await committer.commit([
        { kind: 'lease', runId: run.id, attempt, owner, now, until: now + CANCEL_LEASE_MS, takeOver },
      ]);
      await committer.commit([
        ...(await releasedClaims(store.datasets, { runNo: run.no, play: run.play, fence })),
        { kind: 'runState', fence, status: 'cancelled', at: now, error: null, result: null, wakeAt: null },
      ]);
      return true;
    } catch (error) {
      if (isOvertaken(error)) return false;
      throw error;
    }
  }

  async #run(runId: string): Promise<RunRecord> {
    const run = await this.#deps.store.runs.run(runId);
    if (run !== undefined) return run;
    throw new CallsheetError('RUN_NOT_FOUND', `There is no run ${runId} in this workspace.`, {
      details: { runId },
      next: ['callsheet runs list'],
    });
  }

  #isHeld({ owner, leaseUntil }: RunRecord): boolean {
    return owner !== null && leaseUntil !== null && leaseUntil > this.#deps.clock.now() && !isGone(owner);
  }
}

/** How long it may take to write down that a run is cancelled (ms). */
const CANCEL_LEASE_MS = 1_000;

/** What is taken for a machine that slept, before it must be the play itself that stops the process for so long. */
const LAPSES = 3;

/** Throws STALE_ATTEMPT, and leaves the run to whoever takes it up, where going on has led nowhere. */
function afterLapse(now: InHand): void {
  const isInterrupted = now.ending.reason?.kind === 'interrupted';
  now.ending = new Ending();
  // Asked for while the lapse was written down: the next attempt writes that down and does nothing else.
  if (isInterrupted) now.ending.interrupt();
  now.lapses = hasCalled(now.view) ? 1 : now.lapses + 1;
  if (isInterrupted || now.lapses <= LAPSES) return;
  throw new StaleAttemptError(
    `The lease of ${now.runId} ran out ${now.lapses} times before a call was made: the process stands still for longer than 15 seconds.`,
    {
      details: { runId: now.runId, lapses: now.lapses },
      next: [
        'Let the play await something while it computes, so that the process can renew the lease.',
        `callsheet runs resume ${now.runId}`,
      ],
    },
  );
}

/** Whether the attempt made a call that no earlier one had made. */
function hasCalled(view: AttemptView | undefined): boolean {
  const counts = [...(view?.counters.snapshot().values() ?? [])];
  return counts.some(
    ({ live, receipt, coalesced, sourceRun, unsent }) => live + receipt + coalesced + sourceRun + unsent > 0,
  );
}

function interrupt(ending: Ending): void {
  if (ending.reason === undefined || ending.reason.kind === 'lapsed') ending.interrupt();
  else ending.killNow();
}

function isFinished({ status }: RunRecord): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Somebody else has begun an attempt. */
function isOvertaken(error: unknown): boolean {
  return error instanceof StaleAttemptError || (error instanceof StoreConflict && error.what === 'lease');
}

function held(run: RunRecord): CallsheetError {
  return new CallsheetError('RUN_HELD', `Another process (${run.owner ?? 'unknown'}) is working on ${run.id}.`, {
    details: { runId: run.id, owner: run.owner, leaseUntil: run.leaseUntil },
    next: [`callsheet runs watch ${run.id}`, `callsheet runs cancel ${run.id}`],
  });
}

function finished(run: RunRecord): CallsheetError {
  return new CallsheetError('RUN_NOT_RESUMABLE', `The run ${run.id} is ${run.status} already.`, {
    details: { runId: run.id, status: run.status },
    next: [`callsheet runs show ${run.id}`],
  });
}
