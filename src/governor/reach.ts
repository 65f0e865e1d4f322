/** Port: where it is kept which accounts have ever answered (`rates.db`), for other processes and later ones. */
export interface ReachState {
  /** Never throws, and is waited for by nobody. */
  reached(account: string): void;
  /** A promise only where the state cannot be had at once. Throws, or rejects with, what the place throws in which it is kept. */
  wasReached(account: string): boolean | Promise<boolean>;
}

/**
 * Whether an account has ever answered anybody on the workspace: one that does not any more is out, and of one that never did the
 * address may be wrong, or what is asked.
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

  /** It does not answer now: whether it ever has is looked up. */
  missed(): void {
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
