import type { Clock } from './clock.ts';

/**
 * Whether a scope's author code may still do anything.
 *
 * Owns: the state of one scope (the run, or a row), the effects it has in flight and the steps it is in.
 * Does not own: what is waited for (run/waits), or why the run ends (run/ending).
 *
 * Invariants
 *  1. States only go open -> suspended -> closed, or open -> closed.
 *  2. Work entered while the gate is not open never starts, and its promise never settles.
 *  3. Work that started while it was open runs to its end and is counted until then, awaited by the author or not.
 *  4. What started before `close` but ends after it never reaches the author's code.
 *  5. Waits are armed while the gate is suspended, too: `Promise.race([event, sleep])` waits for both.
 *  6. While it is suspended, `wantsMore` tells that code which was given something would have gone on: its next attempt can.
 *  7. A step that is known to wait for something open counts as in flight no longer: it cannot end in this attempt.
 */
export type GateState = 'open' | 'suspended' | 'closed';

/** Work that was cut because its scope is ending. Never reaches the author's code: a gate keeps the promise pending. */
export class Halted extends Error {}

/** Work that is to begin again later: its scope waits until then, as it does for a wait that is armed. */
export class PutOff extends Halted {
  /** Milliseconds since the epoch. */
  readonly until: number;
  constructor(message: string, until: number) {
    super(message);
    this.until = until;
  }
}

/** What an armed wait comes to: a value or an error at once, or nothing in this attempt. */
export type Armed<T> = { readonly value: T } | 'open';

/** A step that runs author's code, as far as its gate counts it. */
interface Enclosed {
  readonly kind: 'step';
}

export class Gate {
  /** Where whoever has opened it keeps it. */
  slot = -1;
  #state: GateState = 'open';
  #inFlight = 0;
  #entries = 0;
  /** Something ended while the gate was suspended. */
  #progressed = false;
  #wantsMore = false;
  #idle: (() => void)[] = [];
  /** Waits that came out open. */
  #open = 0;
  readonly #enclosed = new Set<Enclosed>();
  /** The step whose code is running right now, before its first await. */
  #within: Enclosed | undefined;

  get state(): GateState {
    return this.#state;
  }

  /** Effects that are out, steps left aside. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Effects and steps that may still end. */
  get unfinished(): number {
    return this.#inFlight + this.#enclosed.size;
  }

  /** How often anything was entered: tells whether author's code went on. */
  get entries(): number {
    return this.#entries;
  }

  /** True where code that went on while the gate was suspended came to something that may not start any more. */
  get wantsMore(): boolean {
    return this.#wantsMore;
  }

  /** Something that the scope's code may wait for has ended, other than what was entered here. */
  progressed(): void {
    if (this.#state === 'suspended') this.#progressed = true;
  }

  /** A promise that never settles, for what may not start any more. */
  hold<T>(): Promise<T> {
    if (this.#progressed) this.#wantsMore = true;
    return new Promise<T>(() => {});
  }

  /** Runs `work` if the gate is open. The promise stays pending for ever if it is not, or once it is closed. */
  enter<T>(work: () => Promise<T>): Promise<T> {
    if (this.#state !== 'open') return this.hold();
    this.#inFlight++;
    this.#entries++;
    return this.#delivered(begun(work), undefined);
  }

  /** Runs a step's code, whose own effects are entered one by one. */
  enclose<T>(work: () => Promise<T>): Promise<T> {
    if (this.#state !== 'open') return this.hold();
    this.#entries++;
    const step: Enclosed = { kind: 'step' };
    this.#enclosed.add(step);
    const outer = this.#within;
    this.#within = step;
    const running = begun(work);
    this.#within = outer;
    return this.#delivered(running, step);
  }

  /** Arms a wait. The promise stays pending where it is still open, and `work` says so once that is durable. */
  arm<T>(work: () => Promise<Armed<T>>): Promise<T> {
    if (this.#state === 'closed') return new Promise<T>(() => {});
    this.#inFlight++;
    this.#entries++;
    const within = this.#within;
    const arming = begun(work).then((armed) => {
      if (armed !== 'open') return armed.value;
      this.#open++;
      if (within !== undefined) this.#enclosed.delete(within);
      this.#inFlight--;
      this.#wake();
      return new Promise<T>(() => {});
    });
    return this.#delivered(arming, undefined);
  }

  #delivered<T>(running: Promise<T>, step: Enclosed | undefined): Promise<T> {
    const entered = new Promise<T>((resolve, reject) => {
      running.then(
        (value) => {
          if (this.#leave(step)) resolve(value);
        },
        (error: unknown) => {
          if (error instanceof PutOff) this.#open++;
          if (!this.#leave(step) || error instanceof Halted) return;
          // A call that the author does not await is recorded like any other; its failure must not end the process.
          entered.catch(ignore);
          reject(error);
        },
      );
    });
    return entered;
  }

  /** One effect less; false where its end must not reach the author's code. */
  #leave(step: Enclosed | undefined): boolean {
    if (step === undefined) this.#inFlight--;
    else this.#enclosed.delete(step);
    this.progressed();
    this.#wake();
    return this.#state !== 'closed';
  }

  #wake(): void {
    if (this.#inFlight === 0 && this.#idle.length > 0) for (const wake of this.#idle.splice(0)) wake();
  }

  suspend(): void {
    if (this.#state === 'open') this.#state = 'suspended';
  }

  close(): void {
    this.#state = 'closed';
  }

  /** Resolves when no effect is in flight. */
  idle(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /**
   * Resolves when nothing of the scope goes on: no effect is in flight and its steps have ended. Where something is waited
   * for, steps get `graceMs` only: one that waits for it after its first await looks like one that still works.
   */
  async still(clock: Clock, graceMs: number): Promise<void> {
    const until = clock.monotonic() + graceMs;
    while (this.unfinished > 0) {
      await this.idle();
      await turn();
      if (this.#inFlight > 0 || this.#enclosed.size === 0) continue;
      if (this.#open > 0 && clock.monotonic() >= until) return;
      await new Promise<void>((resolve) => {
        clock.after(LOOK_MS, resolve);
      });
    }
  }
}

/** How often a step is looked at that runs code of its own (ms). */
const LOOK_MS = 20;

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
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
