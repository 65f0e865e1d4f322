/**
 * Credentials that a provider refused, looked up again.
 *
 * Owns: which secrets were read again in this attempt, and how often one had changed.
 *
 * Invariant: the source of a secret is read again once an attempt, however many calls are refused at once.
 */
export class Rereads {
  readonly #reread: (name: string) => boolean;
  readonly #done = new Set<string>();
  #changes = 0;

  /** @param reread reads the source of a secret anew; true where it has another value than before */
  constructor(reread: (name: string) => boolean) {
    this.#reread = reread;
  }

  /** How often a secret has changed so far: what a call remembers when it goes out. */
  get changes(): number {
    return this.#changes;
  }

  /** True where a secret has another value than when a call went out that remembers `changes`. */
  changedSince(changes: number, secrets: readonly string[]): boolean {
    for (const name of secrets) {
      if (this.#done.has(name)) continue;
      this.#done.add(name);
      if (this.#reread(name)) this.#changes++;
    }
    return this.#changes > changes;
  }
}
