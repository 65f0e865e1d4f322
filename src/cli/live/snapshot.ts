import type { RunProgress, RunWait } from '../../workspace/index.ts';

/** What rows, or the run itself, wait for. */
export interface Waited {
  /** Milliseconds since the epoch; null where only events let it go on. */
  readonly wakeAt: number | null;
  readonly events: readonly { readonly event: string; readonly count: number }[];
}

/** What the live view shows, all of it plain data. */
export interface LiveSnapshot {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly progress: RunProgress;
  /** Rows a second by dataset key; null until it can be told. */
  readonly rates: ReadonlyMap<string, number | null>;
  readonly waits: readonly RunWait[];
  readonly waited?: Waited | undefined;
}

const WINDOW_MS = 10_000;

/** Rows a second over the last ten seconds, by dataset. */
export class RateMeter {
  readonly #seen = new Map<string, { readonly at: number; readonly rows: number }[]>();

  /** `at` on a clock that never jumps. */
  observe(progress: RunProgress, at: number): ReadonlyMap<string, number | null> {
    const rates = new Map<string, number | null>();
    for (const { key, completed, failed, waiting } of progress.datasets) {
      const points = this.#seen.get(key) ?? [];
      points.push({ at, rows: completed + failed + waiting });
      while (points.length > 2 && at - (points[1]?.at ?? at) >= WINDOW_MS) points.shift();
      this.#seen.set(key, points);
      const [first, last] = [points[0], points.at(-1)];
      const ms = (last?.at ?? 0) - (first?.at ?? 0);
      rates.set(key, ms < 500 ? null : (((last?.rows ?? 0) - (first?.rows ?? 0)) * 1000) / ms);
    }
    return rates;
  }
}
