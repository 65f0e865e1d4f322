import { type Clock, sleep } from '../../scope/index.ts';
import { heldError, isBusy, storeError } from './errors.ts';

const LONGEST_DELAY_MS = 25;

export interface WaitOptions {
  readonly clock: Clock;
  readonly path: string;
  /** After this many milliseconds without the lock: STORE_HELD. */
  readonly heldAfterMs: number;
}

/**
 * Runs `work`, first at once and then from the clock for as long as another connection holds the lock: SQLite's own
 * time-out would freeze the event loop. Throws STORE_HELD, or the error of `work` as one of ours.
 */
export async function whenFree<T>(work: () => T, options: WaitOptions): Promise<T> {
  const began = options.clock.monotonic();
  for (let delay = 1; ; delay = Math.min(delay * 2, LONGEST_DELAY_MS)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw storeError(error, options.path);
      const waited = options.clock.monotonic() - began;
      if (waited >= options.heldAfterMs) throw heldError(options.path, waited, error);
    }
    await sleep(options.clock, delay);
  }
}

/** Lets the event loop turn between the pieces of a long read. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
