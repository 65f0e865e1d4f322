/**
 * Whether a scope's author code may still do anything.
 *
 * Owns: the state of one scope (the run, or a row) and the number of effects it has in flight.
 * Does not own: what is waited for (run/wait), or why the run ends (run/fatal).
 *
 * Invariants
 *  1. States only go open -> suspended -> closed, or open -> closed.
 *  2. Work entered while the gate is not open never starts, and its promise never settles.
 *  3. Work that started while it was open runs to its end and is counted until then, awaited by the author or not.
 *  4. What started before `close` but ends after it never reaches the author's code.
 */
export type GateState = 'open' | 'suspended' | 'closed';

/** Work that was cut because its scope is ending. Never reaches the author's code: a gate keeps the promise pending. */
export class Halted extends Error {}

export class Gate {
  #state: GateState = 'open';
  #inFlight = 0;
  #idle: (() => void)[] = [];

  get state(): GateState {
    return this.#state;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Runs `work` if the gate is open. The promise stays pending for ever if it is not, or once it is closed. */
  enter<T>(work: () => Promise<T>): Promise<T> {
    if (this.#state !== 'open') return new Promise<T>(() => {});
    this.#inFlight++;
    const entered = new Promise<T>((resolve, reject) => {
      begun(work).then(
        (value) => {
          if (this.#leave()) resolve(value);
        },
        (error: unknown) => {
          if (!this.#leave() || error instanceof Halted) return;
          // A call that the author does not await is recorded like any other; its failure must not end the process.
          entered.catch(ignore);
          reject(error);
        },
      );
    });
    return entered;
  }

  /** One effect less; false where its end must not reach the author's code. */
  #leave(): boolean {
    this.#inFlight--;
    if (this.#inFlight === 0 && this.#idle.length > 0) for (const wake of this.#idle.splice(0)) wake();
    return this.#state !== 'closed';
  }

  suspend(): void {
    if (this.#state === 'open') this.#state = 'suspended';
  }

  close(): void {
    this.#state = 'closed';
  }

  /** Resolves when nothing is in flight. */
  idle(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }
}

/** Work that throws at once counts as work that fails. */
function begun<T>(work: () => Promise<T>): Promise<T> {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error);
  }
}

function ignore(): void {}
