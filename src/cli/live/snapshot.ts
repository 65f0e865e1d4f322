import type { RunProgress } from '../../workspace/index.ts';

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
  /** Rows a second by dataset key, and by `key|leg`; null until it can be told. */
  readonly rates: ReadonlyMap<string, number | null>;
  readonly waited?: Waited | undefined;
}

const WINDOW_MS = 10_000;

/** Rows that are through with a leg, however. */
export function ended(leg: RunProgress['datasets'][number]['legs'][number]): number {
  return leg.hits + leg.misses + leg.unavailable + leg.skipped + leg.failed + leg.rejected;
}

/** Rows finished a second over the last ten seconds, by dataset and leg: parked ones come back, and are not finished. */
export class RateMeter {
  readonly #seen = new Map<string, { readonly at: number; readonly rows: number }[]>();

  /** `at` on a clock that never jumps. */
  observe(progress: RunProgress, at: number): ReadonlyMap<string, number | null> {
    const rates = new Map<string, number | null>();
    for (const { key, completed, failed, reused, legs } of progress.datasets) {
      rates.set(key, this.#rate(key, { at, rows: completed + failed - reused }));
      for (const leg of legs)
        rates.set(`${key}|${leg.path}`, this.#rate(`${key}|${leg.path}`, { at, rows: ended(leg) }));
    }
    return rates;
  }

  #rate(id: string, point: { readonly at: number; readonly rows: number }): number | null {
    const points = this.#seen.get(id) ?? [];
    points.push(point);
    while (points.length > 2 && point.at - (points[1]?.at ?? point.at) >= WINDOW_MS) points.shift();
    this.#seen.set(id, points);
    const first = points[0] ?? point;
    const ms = point.at - first.at;
    return ms < 500 ? null : (Math.max(0, point.rows - first.rows) * 1000) / ms;
  }
}
