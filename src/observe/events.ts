/** Something that happened in a run, for people and for `runs events`. */
export interface ObservedEvent {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly type: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly datasetNo: number | null;
  readonly ordinal: number | null;
  /** JSON text. */
  readonly data: string | null;
}

/**
 * Hands every event of a run to whoever listens.
 *
 * Invariant: a listener that throws hurts neither the run nor the other listeners; its fault is told once on stderr.
 */
export class EventHub {
  readonly #listeners = new Set<(event: ObservedEvent) => void>();
  #toldFault = false;

  /** Returns the function that ends the subscription. */
  subscribe(listener: (event: ObservedEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: ObservedEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        if (this.#toldFault) continue;
        this.#toldFault = true;
        process.stderr.write(`callsheet: a listener of run events failed: ${String(error)}\n`);
      }
    }
  }
}
