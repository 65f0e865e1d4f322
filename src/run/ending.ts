import { type Clock, Gate, Halted, Slots } from '../scope/index.ts';
import type { RunFatalError } from '../sdk/index.ts';

export type EndingReason =
  | { readonly kind: 'fatal'; readonly error: RunFatalError }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'cancelled' }
  /** All that is left of the attempt waits for an instant or for somebody. */
  | { readonly kind: 'suspended' }
  /** The lease ran out by time, as it does while the process is paused. The run may go on as another attempt. */
  | { readonly kind: 'lapsed' };

interface OpenRow {
  readonly gate: Gate;
  readonly suspended: () => void;
}

/**
 * Why and whether an attempt is ending before its play has returned.
 *
 * Owns: the first reason, the run's gate and the gates of all rows in flight, and the two signals.
 * Does not own: the lease (lease.ts), or what the outcome is (outcome.ts).
 *
 * Invariants
 *  1. The first reason stands, except that a fatal error takes the place of any other, and what a person wants that of a
 *     lapse; a play that has settled does not suspend any more.
 *  2. From then on every gate, also a later one, is suspended: what is in flight ends, nothing starts.
 *  3. `halt` is aborted with the reason's error before any gate is told.
 */
export class Ending {
  readonly gate = new Gate();
  readonly #rows = new Slots<OpenRow>();
  readonly #halt = new AbortController();
  readonly #kill = new AbortController();
  readonly #decided: Promise<void>;
  #tell: () => void = () => {};
  #reason: EndingReason | undefined;
  #finished = false;

  constructor() {
    this.#decided = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  get reason(): EndingReason | undefined {
    return this.#reason;
  }
  /** True once the play itself has settled. */
  get finished(): boolean {
    return this.#finished;
  }
  /** False once nothing new may start. */
  get going(): boolean {
    return !this.#halt.signal.aborted;
  }
  /** Resolves once there is a reason. */
  get decided(): Promise<void> {
    return this.#decided;
  }
  /** Aborted when nothing new may go out. */
  get halt(): AbortSignal {
    return this.#halt.signal;
  }
  /** Aborted when what is in flight must end now. */
  get kill(): AbortSignal {
    return this.#kill.signal;
  }

  /** The gate of one row; `suspended` is told when the run suspends it. */
  openRow(suspended: () => void): Gate {
    const gate = new Gate();
    gate.slot = this.#rows.put({ gate, suspended });
    if (!this.going) gate.suspend();
    return gate;
  }

  /** Suspends one row, whose slot is freed; the others go on. */
  suspendRow(gate: Gate): void {
    gate.suspend();
    this.#rows.at(gate.slot)?.suspended();
  }

  closeRow(gate: Gate): void {
    this.#rows.free(gate.slot);
    // The slot may be another row's from now on.
    gate.slot = -1;
  }

  fatal(error: RunFatalError): void {
    if (this.#reason?.kind === 'fatal') return;
    this.#end({ kind: 'fatal', error }, error);
  }

  interrupt(): void {
    this.#end({ kind: 'interrupted' }, new Halted('the run was interrupted'));
  }

  cancel(): void {
    this.#end({ kind: 'cancelled' }, new Halted('the run was cancelled'));
  }

  /** The lease is over, though perhaps nobody else has taken the run. */
  lapse(runId: string): void {
    this.#end({ kind: 'lapsed' }, new Halted(`the lease of ${runId} ran out before it was renewed`));
  }

  suspend(): void {
    if (!this.#finished) this.#end({ kind: 'suspended' }, new Halted('the run waits'));
  }

  /** Ends what is in flight, too. */
  killNow(): void {
    this.#kill.abort(new Halted('the run was interrupted twice'));
  }

  /** The play has returned or thrown: what is in flight ends, nothing of it starts any more. */
  finish(): void {
    this.#finished = true;
    this.#suspend(new Halted('the play has ended'));
  }

  assertGoing(): void {
    if (this.going) return;
    throw this.#halt.signal.reason;
  }

  /** Resolves when nothing of the attempt is in flight. */
  async idle(clock: Clock): Promise<void> {
    for (const gate of [this.gate, ...this.#gates()]) await gate.still(clock, STEP_GRACE_MS);
    // Code that only waited for the last of it comes to its end, and its row to its record.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /**
   * Resolves when nothing is in flight, or at the latest so long after the reason to end: what is in flight then gets the
   * kill signal, and author's code that heeds no signal is left alone.
   */
  quiet(clock: Clock): Promise<void> {
    return new Promise((resolve) => {
      let cancel = (): void => {};
      let done = false;
      const end = (): void => {
        done = true;
        cancel();
        resolve();
      };
      const arm = (ms: number, then: () => void): void => {
        cancel();
        if (!done) cancel = clock.after(ms, then);
      };
      const killed = (): void => arm(AFTER_KILL_MS, end);
      void this.idle(clock).then(end);
      void this.#decided.then(() => (this.kill.aborted ? killed() : arm(GRACE_MS, () => this.killNow())));
      this.kill.addEventListener('abort', killed, { once: true });
    });
  }

  /** From here on nothing reaches the author's code. */
  close(): void {
    this.gate.close();
    for (const gate of this.#gates()) gate.close();
  }

  *#gates(): Generator<Gate> {
    for (const { gate } of this.#rows) yield gate;
  }

  #end(reason: EndingReason, cause: Error): void {
    if (this.#reason !== undefined && !takesPlace(reason, this.#reason)) return;
    this.#reason = reason;
    this.#suspend(cause);
    this.#tell();
  }

  #suspend(cause: Error): void {
    this.#halt.abort(cause);
    this.gate.suspend();
    for (const { gate, suspended } of this.#rows) {
      gate.suspend();
      suspended();
    }
  }
}

/** Whether a later reason to end counts more than the one that is there. */
function takesPlace({ kind }: EndingReason, of: EndingReason): boolean {
  return kind === 'fatal' || (of.kind === 'lapsed' && (kind === 'interrupted' || kind === 'cancelled'));
}

/** How long a step may still work on once its scope waits for something, before it counts as waiting itself (ms). */
export const STEP_GRACE_MS = 2_000;

/** How long calls in flight get to end once there is a reason to, and how long after the kill signal (ms). */
const GRACE_MS = 30_000;
const AFTER_KILL_MS = 1_000;

/** How long a lease holds and how often it is renewed (ms). */
export const LEASE_MS = 15_000;
export const HEARTBEAT_MS = 5_000;

/** How often an attempt looks whether its run is to be cancelled (ms): the bound that `runs cancel` tells people. */
export const LOOK_MS = 1_000;

/**
 * The attempt's right to call.
 *
 * Invariants
 *  1. `assertHeld` throws as soon as the lease may have run out, by our own clock, whether or not the store could be asked.
 *  2. That ends the attempt as lapsed, which is no failure: whether the run is somebody else's by now, the store says.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #ending: Ending;
  #until: number;

  constructor(clock: Clock, ending: Ending) {
    this.#clock = clock;
    this.#ending = ending;
    this.#until = clock.monotonic() + LEASE_MS;
  }

  /** It holds from the instant (monotonic) at which it was asked for: the process may have been paused since. */
  renewed(askedAt: number): void {
    this.#until = askedAt + LEASE_MS;
  }

  /** Throws the halt's reason once the lease is over. */
  assertHeld(runId: string): void {
    if (this.#clock.monotonic() < this.#until) return;
    this.#ending.lapse(runId);
    this.#ending.assertGoing();
  }
}
