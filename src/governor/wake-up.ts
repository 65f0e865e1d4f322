import type { Clock } from '../scope/index.ts';

/** One timer: the latest instant that it was told is the one at which it wakes (monotonic ms). */
export class WakeUp {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #due: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  get due(): number | undefined {
    return this.#due;
  }

  /** Never at infinity: something else wakes whoever waits for what nobody knows. */
  at(due: number, now: number): void {
    if (this.#due === due) return;
    this.cancel();
    if (!Number.isFinite(due)) return;
    this.#due = due;
    this.#cancel = this.#clock.after(due - now, () => {
      this.#due = undefined;
      this.#wake();
    });
  }

  cancel(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#due = undefined;
  }
}
