import type { Clock, Scope } from '../scope/index.ts';
import { type Ending, STEP_GRACE_MS } from './ending.ts';
import type { ParkedRows } from './parked.ts';

/** How long author's code that may go on past an open wait has to be silent before it counts as waiting (ms). */
const SILENCE_MS = 1_000;

/**
 * When a scope, and when the attempt, is over because all that is left of it waits.
 *
 * Owns: which datasets can still go on by themselves.
 * Does not own: the gates (ending), what is waited for (waits), or parked rows (parked).
 *
 * Invariants
 *  1. A scope in which a wait is armed and open is suspended at once, so that none of its calls starts any more. Where its
 *     code may go on past the wait (it is from an earlier attempt, or another one is over), as soon as the code is silent.
 *  2. The attempt is suspended when the run's own scope is, nothing of it is in flight, no dataset can go on, and no row is
 *     parked that the attempt stays for.
 */
export class Suspension {
  readonly #ending: Ending;
  readonly #clock: Clock;
  readonly #parked: Pick<ParkedRows, 'holds'>;
  readonly #busy = new Set<object>();

  constructor(ending: Ending, clock: Clock, parked: Pick<ParkedRows, 'holds'>) {
    this.#ending = ending;
    this.#clock = clock;
    this.#parked = parked;
  }

  /** A wait of this scope is open. `mayGoOn`: its code may be given something that lets it go on past that. */
  blocked(scope: Scope, mayGoOn: boolean): void {
    if (mayGoOn) this.#whenSilent(scope);
    else this.#suspend(scope);
  }

  /** A dataset (by whatever stands for it) can go on by itself, or cannot. */
  busy(dataset: object, isBusy: boolean): void {
    if (isBusy) this.#busy.add(dataset);
    else if (this.#busy.delete(dataset)) this.#look();
  }

  #suspend(scope: Scope): void {
    if (scope.inRow) {
      this.#ending.suspendRow(scope.gate);
      return;
    }
    this.#ending.gate.suspend();
    this.#look();
  }

  #whenSilent(scope: Scope): void {
    const { gate } = scope;
    const { entries } = gate;
    this.#clock.after(SILENCE_MS, () => {
      if (gate.state !== 'open') return;
      if (gate.inFlight === 0 && gate.entries === entries) this.#suspend(scope);
      else this.#whenSilent(scope);
    });
  }

  #look(): void {
    const { gate } = this.#ending;
    if (gate.state !== 'suspended' || this.#isBusy) return;
    void gate.still(this.#clock, STEP_GRACE_MS).then(() => {
      if (!this.#isBusy) this.#ending.suspend();
    });
  }

  /** What is woken makes its dataset busy again, which looks here when it no longer is. */
  get #isBusy(): boolean {
    return this.#busy.size > 0 || this.#parked.holds;
  }
}
