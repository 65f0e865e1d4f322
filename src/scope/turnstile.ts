/** Runs one thing at a time, in order of asking; the first one at once, without a turn in between. */
export class Turnstile {
  #last: Promise<unknown> | undefined;

  pass<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last === undefined ? work() : this.#last.then(work, work);
    const done = (): void => {
      if (this.#last === mine) this.#last = undefined;
    };
    this.#last = mine;
    mine.then(done, done);
    return mine;
  }
}
