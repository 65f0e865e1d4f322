/** Time as a port, so that tests own it. All instants are milliseconds since the Unix epoch. */
export interface Clock {
  now(): number;
  /** Milliseconds on a clock that never jumps; only differences mean anything. */
  monotonic(): number;
  /** Calls `fn` once after `ms`; the returned function cancels it. Keeps the process alive only if `keepAlive`. */
  after(ms: number, fn: () => void, options?: { readonly keepAlive?: boolean }): () => void;
}

/** The machine's clock: the only place in `src/` that names `Date.now` and `setTimeout`. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn, options) {
    // Timers count whole milliseconds. Who waits for the rest of one looks at each turn whether it is over.
    if (ms < 1) {
      const turn = setImmediate(fn);
      if (options?.keepAlive === false) turn.unref();
      return () => clearImmediate(turn);
    }
    // Longer delays overflow Node's 32-bit timers and would fire at once.
    const timer = setTimeout(fn, Math.min(Math.max(0, ms), 2_147_483_647));
    if (options?.keepAlive === false) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
