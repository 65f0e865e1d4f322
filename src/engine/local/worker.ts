import type { Outcome } from '../../run/index.ts';
import type { Clock } from '../../scope/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import type { Instant, ReportReads, RunReads, RunRecord } from '../../store/index.ts';
import type { Engine, RunInProgress } from '../port.ts';
import { isGone } from './owner.ts';

export type WorkerEvent =
  | { readonly kind: 'took'; readonly run: RunRecord; readonly working: RunInProgress }
  | { readonly kind: 'ended'; readonly runId: string; readonly outcome: Outcome }
  /** A due run that cannot be worked on here and now; it is looked at again later. */
  | { readonly kind: 'passed'; readonly runId: string; readonly error: unknown }
  /** The store cannot say what is due; it is asked again. */
  | { readonly kind: 'blind'; readonly error: unknown };

export interface WorkerSummary {
  /** Runs that were taken, each time that they were. */
  readonly taken: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly waiting: number;
  /** Given back unfinished because the worker was stopped. */
  readonly handedBack: number;
  /** Due runs that could not be worked on. */
  readonly passed: number;
}

export interface WorkerOptions {
  /** Runs at once. */
  readonly concurrency: number;
  /** End when nothing is due any more. */
  readonly once: boolean;
  /** Why this worker must leave a run to others, if it must. */
  readonly refuses: (run: RunRecord) => CallsheetError | undefined;
  readonly tell: (event: WorkerEvent) => void;
}

export interface WorkerParts {
  readonly engine: Pick<Engine, 'start'>;
  readonly runs: Pick<RunReads, 'runsDue'>;
  readonly report: Pick<ReportReads, 'listRuns'>;
  readonly clock: Clock;
}

const POLL_MS = 1_000;
/** How long a run that could not be begun is left alone (ms): about a lease. */
const PASS_OVER_MS = 15_000;
/** The newest runs that are looked at for an owner that is gone; older ones are found when their lease is over. */
const LOOKED_AT = 100;

const COUNTED: Readonly<Record<Outcome['kind'], Exclude<keyof WorkerSummary, 'taken' | 'passed'>>> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  suspended: 'waiting',
  interrupted: 'handedBack',
};

/**
 * Keeps the due runs of a workspace going. `working` → `stopping` (stop was called, or `once` found nothing) → ended.
 *
 * Owns: which runs it has in hand, and which it passes over for a while.
 * Does not own: leases and attempts (engine), or what is due (store).
 *
 * Invariants
 *  1. At most `concurrency` runs are in hand, none of them twice.
 *  2. Only what is due is taken: queued for a worker, woken, asked to cancel while it waited, or left by a process that is
 *     gone. What a person interrupted has no owner, and so is none of these.
 *  3. That another worker is quicker is no event: the run is simply not in hand.
 *  4. Whatever becomes of one run, the others go on.
 *  5. From `stop` on nothing is taken, and what is in hand is interrupted and goes back to be due at once.
 *  6. It ends with nothing in hand.
 */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #options: WorkerOptions;
  readonly #inHand = new Map<string, RunInProgress>();
  readonly #ends = new Set<Promise<void>>();
  readonly #passedOver = new Map<string, Instant>();
  readonly #counts: Record<keyof WorkerSummary, number> = {
    taken: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    waiting: 0,
    handedBack: 0,
    passed: 0,
  };
  #stopping = false;
  #changed = false;
  #wake: () => void = () => {};
  #trouble: string | undefined;

  constructor(parts: WorkerParts, options: WorkerOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Resolves when it was stopped or, with `once`, when nothing is due. Rejects only where `once` cannot read the store. */
  async work(): Promise<WorkerSummary> {
    try {
      while (!this.#stopping) {
        this.#changed = false;
        const isIdle = (await this.#takeDue()) === 0 && this.#inHand.size === 0;
        if (isIdle && this.#options.once) break;
        await this.#pause();
      }
    } finally {
      while (this.#ends.size > 0) await Promise.all(this.#ends);
    }
    return { ...this.#counts };
  }

  /** Takes nothing more, and lets calls in flight end. A second time: ends those, too. */
  stop(): void {
    this.#stopping = true;
    for (const working of this.#inHand.values()) working.interrupt();
    this.#nudge();
  }

  /** Takes what is due as far as there is room; resolves to how much that was. */
  async #takeDue(): Promise<number> {
    let taken = 0;
    for (const run of await this.#due()) {
      if (this.#stopping || this.#inHand.size >= this.#options.concurrency) break;
      if (await this.#take(run)) taken++;
    }
    return taken;
  }

  async #due(): Promise<readonly RunRecord[]> {
    const { runs, report, clock } = this.#parts;
    if (this.#inHand.size >= this.#options.concurrency) return [];
    const now = clock.now();
    for (const [runId, until] of this.#passedOver) if (until <= now) this.#passedOver.delete(runId);
    // Those that are left out below must not hide others.
    const limit = this.#options.concurrency + this.#inHand.size + this.#passedOver.size;
    try {
      const due = await runs.runsDue(now, limit);
      const running = await report.listRuns({ limit: LOOKED_AT, status: 'running' });
      const left = running.filter(
        ({ owner, leaseUntil }) => owner !== null && (leaseUntil ?? 0) > now && isGone(owner),
      );
      this.#trouble = undefined;
      return [...due, ...left].filter((run) => !this.#inHand.has(run.id) && !this.#passedOver.has(run.id));
    } catch (error) {
      if (this.#options.once) throw error;
      this.#tellTrouble(error);
      return [];
    }
  }

  /** The same trouble is told once, not every second. */
  #tellTrouble(error: unknown): void {
    const told = String(error);
    if (told !== this.#trouble) this.#options.tell({ kind: 'blind', error });
    this.#trouble = told;
  }

  async #take(run: RunRecord): Promise<boolean> {
    const refusal = this.#options.refuses(run);
    if (refusal !== undefined) {
      this.#passOver(run.id, { error: refusal, until: Number.POSITIVE_INFINITY });
      return false;
    }
    let working: RunInProgress;
    try {
      working = await this.#parts.engine.start(run.id, { after: run.attempt, handsBack: true });
    } catch (error) {
      this.#notBegun(run.id, error);
      return false;
    }
    this.#inHand.set(run.id, working);
    if (this.#stopping) working.interrupt();
    const end = this.#untilEnd(run, working);
    this.#ends.add(end);
    void end.then(() => this.#ends.delete(end));
    return true;
  }

  async #untilEnd(run: RunRecord, working: RunInProgress): Promise<void> {
    const { tell } = this.#options;
    void working.begun.then(() => {
      this.#counts.taken++;
      tell({ kind: 'took', run, working });
    });
    try {
      const outcome = await working.outcome;
      // Told after `took`, also of an attempt that was over at once.
      await working.begun;
      if (isOvertaken(outcome))
        this.#passOver(run.id, { error: outcome.error, until: this.#parts.clock.now() + POLL_MS });
      else {
        this.#counts[COUNTED[outcome.kind]]++;
        tell({ kind: 'ended', runId: run.id, outcome });
      }
    } catch (error) {
      this.#notBegun(run.id, error);
    }
    this.#inHand.delete(run.id);
    this.#nudge();
  }

  #notBegun(runId: string, error: unknown): void {
    const now = this.#parts.clock.now();
    const isElsewhere = error instanceof CallsheetError && error.code === 'RUN_HELD';
    if (isElsewhere) this.#passedOver.set(runId, now + POLL_MS);
    else this.#passOver(runId, { error, until: this.#options.once ? Number.POSITIVE_INFINITY : now + PASS_OVER_MS });
  }

  #passOver(runId: string, { error, until }: { readonly error: unknown; readonly until: Instant }): void {
    this.#passedOver.set(runId, until);
    this.#counts.passed++;
    this.#options.tell({ kind: 'passed', runId, error });
  }

  /** Until something changes here, or it is time to look again. */
  async #pause(): Promise<void> {
    if (this.#changed) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.clock.after(POLL_MS, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  #nudge(): void {
    this.#changed = true;
    this.#wake();
  }
}

/** This worker was away for longer than its lease, and somebody else goes on with the run. */
function isOvertaken(outcome: Outcome): outcome is Extract<Outcome, { kind: 'failed' }> {
  return outcome.kind === 'failed' && outcome.error.code === 'STALE_ATTEMPT';
}
