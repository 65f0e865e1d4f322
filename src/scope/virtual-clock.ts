import type { Clock } from './clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
}

/** A clock that moves only when it is told to: for tests. */
export class VirtualClock implements Clock {
  #now: number;
  #order = 0;
  #timers: Timer[] = [];

  constructor(startsAt = Date.parse('2026-01-01T00:00:00Z')) {
    this.#now = startsAt;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, fn: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, fn };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Instants for which something waits, earliest first. */
  pending(): readonly number[] {
    return this.#timers.map((timer) => timer.at).sort((a, b) => a - b);
  }

  /** Moves on by `ms`, firing what falls due in order and letting promises settle in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (due === undefined) break;
      this.#now = Math.max(this.#now, due.at);
      this.#timers = this.#timers.filter((timer) => timer !== due);
      due.fn();
    }
    this.#now = end;
    await settle();
  }
}

/** Lets promise reactions and already scheduled turns of the event loop run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
