import type { RunReads } from '../../store/index.ts';
import type { Engine, RunInProgress } from '../port.ts';

/**
 * The runs that runs of this process have started, worked on beside them while somebody attends.
 *
 * Owns: which of them this process works on. Does not own: runs (the store), leases (the engine), what they cost.
 *
 * Invariants
 *  1. Before `attend`, and for a run that is finished or that somebody else has, nothing is begun: workers take it when due.
 *  2. A run is worked on once at a time; how it ends is its own matter and reaches nobody as an error.
 */
export class ChildRuns {
  readonly #engine: Pick<Engine, 'start'>;
  readonly #reads: Pick<RunReads, 'run'>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #inProgress = new Set<RunInProgress>();
  #attended = false;

  constructor(engine: Pick<Engine, 'start'>, reads: Pick<RunReads, 'run'>) {
    this.#engine = engine;
    this.#reads = reads;
  }

  /** From now on this process works on what its runs start. */
  attend(): void {
    this.#attended = true;
  }

  /** How many it works on. */
  get count(): number {
    return this.#running.size;
  }

  adopt(runId: string): void {
    if (!this.#attended || this.#running.has(runId)) return;
    const working = this.#work(runId).catch(() => {});
    this.#running.set(
      runId,
      working.then(() => void this.#running.delete(runId)),
    );
  }

  async #work(runId: string): Promise<void> {
    const run = await this.#reads.run(runId);
    if (run === undefined || ['completed', 'failed', 'cancelled'].includes(run.status)) return;
    const progress = await this.#engine.start(runId);
    this.#inProgress.add(progress);
    await progress.outcome.finally(() => this.#inProgress.delete(progress));
  }

  /** Stops them as the run that started them is stopped. A second time: ends what is in flight, too. */
  interrupt(): void {
    for (const progress of this.#inProgress) progress.interrupt();
  }

  /** Resolves when none is worked on any more, those that they start in turn included. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }
}
