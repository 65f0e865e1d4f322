/** Port: where it is kept which accounts were ever reached (`rates.db`), for other processes and later ones. */
export interface ReachState {
  /** Never throws, and is waited for by nobody. */
  reached(account: string): void;
  /** A promise only where the state cannot be had at once. Throws, or rejects with, what the place throws in which it is kept. */
  wasReached(account: string): boolean | Promise<boolean>;
}

/**
 * Whether anybody on the workspace has ever got through to an account: one that cannot be reached any more is out, and of one that
 * never was the address may be wrong.
 */
export class Reach {
  readonly #account: string;
  readonly #state: ReachState | undefined;
  #isReached = false;
  #isAsked = false;

  /** @param state undefined where nothing is shared */
  constructor(account: string, state: ReachState | undefined) {
    this.#account = account;
    this.#state = state;
  }

  /** False, too, until that is known. */
  get isReached(): boolean {
    return this.#isReached;
  }

  reached(): void {
    if (this.#isReached) return;
    this.#isReached = true;
    this.#state?.reached(this.#account);
  }

  /** It cannot be reached now: whether it ever was is looked up. */
  unreached(): void {
    if (this.#isReached || this.#isAsked) return;
    this.#isAsked = true;
    const learn = (wasReached: boolean): void => {
      this.#isReached ||= wasReached;
    };
    try {
      const was = this.#state?.wasReached(this.#account) ?? false;
      if (was instanceof Promise) was.then(learn, () => {});
      else learn(was);
    } catch {
      // Nobody knows of it.
    }
  }
}
