import type { Clock } from '../scope/index.ts';

export type StopReason = 'timeout' | 'cancelled';

/** An operation under way that ends early when its time is over or its signal is aborted. */
export interface Watched {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Called at most once, and never after `release`. */
  stop(reason: StopReason): void;
}

interface Deadline {
  readonly watched: Watched;
  readonly at: number;
}

/** Deadlines of one length: due in the order in which they were added, so one timer serves them all. */
interface Queue {
  readonly timeoutMs: number;
  readonly deadlines: Map<Watched, Deadline>;
  cancelTimer: () => void;
  /** True while those that are due get a turn to end after the process was stopped. */
  hasLooked: boolean;
}

/** A timer that is later than this was held up by more than a busy event loop (ms). */
const STOPPED_MS = 1_000;

/**
 * Watches time-outs and signals of all operations of a transport.
 *
 * Owns: one timer for each length of time-out in use, one listener for each signal in use.
 * Does not own: what an operation does when it is stopped.
 *
 * Invariants
 *  1. A watched operation is stopped or released, whichever comes first, and then forgotten.
 *  2. A time-out that comes late, since the process was stopped, leaves what has arrived meanwhile a second to be read.
 *  3. Nothing watched, no timer: an idle transport keeps no process alive.
 *  4. Adding and releasing cost the same however many operations are watched (a timer and a listener for each operation
 *     cost more than a small function tool itself).
 */
export class OperationWatch {
  readonly #clock: Clock;
  readonly #queues = new Map<number, Queue>();
  readonly #signals = new Map<AbortSignal, { readonly members: Set<Watched>; readonly onAbort: () => void }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(watched: Watched): void {
    this.#addDeadline(watched);
    const known = this.#signals.get(watched.signal);
    if (known !== undefined) {
      known.members.add(watched);
      return;
    }
    const members = new Set([watched]);
    const onAbort = (): void => {
      for (const member of [...members]) this.#stop(member, 'cancelled');
    };
    this.#signals.set(watched.signal, { members, onAbort });
    watched.signal.addEventListener('abort', onAbort, { once: true });
  }

  release(watched: Watched): void {
    const queue = this.#queues.get(watched.timeoutMs);
    if (queue?.deadlines.delete(watched) && queue.deadlines.size === 0) {
      queue.cancelTimer();
      this.#queues.delete(queue.timeoutMs);
    }
    const group = this.#signals.get(watched.signal);
    if (group?.members.delete(watched) && group.members.size === 0) {
      watched.signal.removeEventListener('abort', group.onAbort);
      this.#signals.delete(watched.signal);
    }
  }

  #stop(watched: Watched, reason: StopReason): void {
    this.release(watched);
    watched.stop(reason);
  }

  #addDeadline(watched: Watched): void {
    const at = this.#clock.monotonic() + watched.timeoutMs;
    let queue = this.#queues.get(watched.timeoutMs);
    if (queue === undefined) {
      queue = { timeoutMs: watched.timeoutMs, deadlines: new Map(), cancelTimer: () => {}, hasLooked: false };
      this.#queues.set(watched.timeoutMs, queue);
      this.#arm(queue, watched.timeoutMs);
    }
    queue.deadlines.set(watched, { watched, at });
  }

  #arm(queue: Queue, ms: number): void {
    queue.cancelTimer = this.#clock.after(ms, () => this.#expire(queue));
  }

  #expire(queue: Queue): void {
    for (const { watched, at } of queue.deadlines.values()) {
      // Timers may fire a fraction of a millisecond early.
      const left = at - this.#clock.monotonic();
      if (left > 1) {
        this.#arm(queue, left);
        return;
      }
      // A process that was stopped for longer than this finds answers in its sockets that it has not had a turn to read.
      if (left < -STOPPED_MS && !queue.hasLooked) {
        queue.hasLooked = true;
        this.#arm(queue, STOPPED_MS);
        return;
      }
      this.#stop(watched, 'timeout');
    }
    queue.hasLooked = false;
  }
}
