import { RunFatalError } from '../sdk/index.ts';

/**
 * Stops all provider calls of the process once a paid answer could not be stored.
 *
 * Owns: whether it is open, why, and how many calls it has prevented.
 * Does not own: the proof that the store writes again (store), the rescue of the answer (call/record).
 *
 * Invariant: while it is open no permit is given, and everyone who waits for one is refused.
 */
export interface PersistenceBreaker {
  readonly isOpen: boolean;
  /** Calls that were prevented, over all the times it was open. */
  readonly prevented: number;
  readonly reason: string | undefined;
  /** @param reason what failed, for people: becomes part of the error of every prevented call */
  open(reason: string): void;
  /** The store has proved a write: calls may go out again. */
  close(): void;
  /** Counts one prevented call and returns its error. */
  refusal(): RunFatalError;
  /** Called each time it opens. */
  onOpen(listener: () => void): void;
}

export function createPersistenceBreaker(): PersistenceBreaker {
  let reason: string | undefined;
  let prevented = 0;
  const listeners: (() => void)[] = [];
  return {
    get isOpen() {
      return reason !== undefined;
    },
    get prevented() {
      return prevented;
    },
    get reason() {
      return reason;
    },
    open(why) {
      const wasOpen = reason !== undefined;
      reason ??= why;
      if (!wasOpen) for (const listener of listeners) listener();
    },
    close() {
      reason = undefined;
    },
    refusal() {
      prevented++;
      const why = reason ?? 'a write failed';
      return new RunFatalError('PERSISTENCE_BREAKER', `No further provider call goes out: ${why}.`, {
        details: { reason: why, prevented },
        next: ['Mend the store (disk space, permissions), then: callsheet runs resume <run>'],
      });
    },
    onOpen(listener) {
      listeners.push(listener);
    },
  };
}
