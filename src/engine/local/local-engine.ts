import { releasedClaims } from '../../dataset/index.ts';
import { EventHub } from '../../observe/index.ts';
import { type AttemptView, Ending, executeAttempt, type RunDeps } from '../../run/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import { type RunRecord, StoreConflict } from '../../store/index.ts';
import type { Engine, RunInProgress } from '../port.ts';
import { isGone, thisOwner } from './owner.ts';

/** The engine of one machine: works on runs in this process, and takes over what a dead process of this machine left. */
export class LocalEngine implements Engine {
  readonly #deps: RunDeps;
  readonly #owner = thisOwner();
  #attempts = 0;

  constructor(deps: RunDeps) {
    this.#deps = deps;
  }

  async start(runId: string): Promise<RunInProgress> {
    const run = await this.#run(runId);
    this.#refuseHeld(run);
    const ending = new Ending();
    const hub = new EventHub();
    let view: AttemptView | undefined;
    // One process may work on a run more than once in its life, so the attempt's number is part of its name.
    const owner = `${this.#owner}|${++this.#attempts}`;
    const takeOver = run.owner !== null && isGone(run.owner);
    const outcome = executeAttempt(this.#deps, {
      runId,
      owner,
      takeOver,
      ending,
      hub,
      onView: (seen) => {
        view = seen;
      },
    }).catch((error: unknown) => {
      if (error instanceof StoreConflict) throw held(run);
      throw error;
    });
    return { runId, outcome, hub, view: () => view, interrupt: () => interrupt(ending) };
  }

  async cancel(runId: string): Promise<'asked' | 'cancelled'> {
    const run = await this.#run(runId);
    if (['completed', 'failed', 'cancelled'].includes(run.status))
      throw new CallsheetError('RUN_NOT_RESUMABLE', `The run ${runId} is ${run.status} already.`, {
        details: { runId, status: run.status },
        next: [`callsheet runs show ${runId}`],
      });
    await this.#deps.committer.commit([{ kind: 'cancel', runId }]);
    if (isHeld(run, this.#deps.clock.now())) return 'asked';
    await this.#endCancelled(run);
    return 'cancelled';
  }

  async #endCancelled(run: RunRecord): Promise<void> {
    const { committer, clock } = this.#deps;
    const now = clock.now();
    const attempt = run.attempt + 1;
    await committer.commit([
      { kind: 'lease', runId: run.id, attempt, owner: `${this.#owner}|cancel`, now, until: now + 1000, takeOver: true },
    ]);
    const fence = { runNo: run.no, attempt };
    await committer.commit([
      ...(await releasedClaims(this.#deps.store.datasets, { runNo: run.no, play: run.play, fence })),
      { kind: 'runState', fence, status: 'cancelled', at: now, error: null, result: null, wakeAt: null },
    ]);
  }

  async #run(runId: string): Promise<RunRecord> {
    const run = await this.#deps.store.runs.run(runId);
    if (run !== undefined) return run;
    throw new CallsheetError('RUN_NOT_FOUND', `There is no run ${runId} in this workspace.`, {
      details: { runId },
      next: ['callsheet runs list'],
    });
  }

  #refuseHeld(run: RunRecord): void {
    if (isHeld(run, this.#deps.clock.now())) throw held(run);
  }
}

function interrupt(ending: Ending): void {
  if (ending.reason === undefined) ending.interrupt();
  else ending.killNow();
}

function isHeld(run: RunRecord, now: number): boolean {
  return run.owner !== null && run.leaseUntil !== null && run.leaseUntil > now && !isGone(run.owner);
}

function held(run: RunRecord): CallsheetError {
  return new CallsheetError('RUN_HELD', `Another process (${run.owner ?? 'unknown'}) is working on ${run.id}.`, {
    details: { runId: run.id, owner: run.owner, leaseUntil: run.leaseUntil },
    next: [`callsheet runs watch ${run.id}`, `callsheet runs cancel ${run.id}`],
  });
}
