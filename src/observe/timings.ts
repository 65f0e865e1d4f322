/**
 * Where the time of a call goes: behind others of its account (queue), held back by the provider's limits (pace), at the
 * provider, onto the disk (record), and from there to the author (deliver).
 */
export const PHASES = ['queue', 'pace', 'provider', 'record', 'deliver'] as const;
export type Phase = (typeof PHASES)[number];

/** A histogram of durations. Bucket n holds those up to 2^(n/4) microseconds; what takes none is in bucket 0. */
export interface Histogram {
  readonly count: number;
  /** Milliseconds. */
  readonly total: number;
  readonly max: number;
  /** Bucket and how many are in it, in order of buckets; empty ones are left out. */
  readonly buckets: readonly (readonly [bucket: number, count: number])[];
}

/** Histograms by tool and phase: the data of a `timings` event, which can be added up over attempts. */
export type TimingsData = Readonly<Record<string, Partial<Readonly<Record<Phase, Histogram>>>>>;

interface Counts {
  count: number;
  total: number;
  max: number;
  /** By bucket: a list, since five are counted for every call. */
  readonly buckets: number[];
}

const PER_OCTAVE = 4;

/** The histograms of one attempt. Invariant: what is added is in exactly one bucket of its tool and phase. */
export class Timings {
  #counts = new Map<string, Map<Phase, Counts>>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  /** @param ms milliseconds on the monotonic clock; below 0 counts as 0 */
  add(tool: string, phase: Phase, ms: number): void {
    const took = Math.max(0, ms);
    const counts = this.#of(tool, phase);
    counts.count++;
    counts.total += took;
    counts.max = Math.max(counts.max, took);
    countIn(counts.buckets, bucketOf(took), 1);
  }

  /** Adds what another attempt has recorded. */
  merge(data: TimingsData): void {
    for (const [tool, phases] of Object.entries(data))
      for (const phase of PHASES) {
        const more = phases[phase];
        if (more === undefined) continue;
        const counts = this.#of(tool, phase);
        counts.count += more.count;
        counts.total += more.total;
        counts.max = Math.max(counts.max, more.max);
        for (const [bucket, count] of more.buckets) countIn(counts.buckets, bucket, count);
      }
  }

  /** What was added since it was taken last; undefined where that is nothing. */
  take(): TimingsData | undefined {
    if (this.isEmpty) return undefined;
    const data = this.data();
    this.#counts = new Map();
    return data;
  }

  data(): TimingsData {
    return Object.fromEntries([...this.#counts].map(([tool, phases]) => [tool, phasesData(phases)]));
  }

  #of(tool: string, phase: Phase): Counts {
    let phases = this.#counts.get(tool);
    if (phases === undefined) {
      phases = new Map();
      this.#counts.set(tool, phases);
    }
    let counts = phases.get(phase);
    if (counts === undefined) {
      counts = { count: 0, total: 0, max: 0, buckets: [] };
      phases.set(phase, counts);
    }
    return counts;
  }
}

/**
 * The duration in milliseconds that a share of the calls did not exceed: exact within a fifth, since that is how wide a
 * bucket is. 0 of an empty histogram.
 */
export function quantile({ count, max, buckets }: Histogram, share: number): number {
  let left = Math.ceil(count * share);
  for (const [bucket, inIt] of buckets) {
    left -= inIt;
    if (left <= 0) return bucket === 0 ? 0 : Math.min(max, 2 ** (bucket / PER_OCTAVE) / 1_000);
  }
  return 0;
}

function bucketOf(ms: number): number {
  const micros = ms * 1_000;
  return micros <= 1 ? 0 : Math.max(1, Math.ceil(Math.log2(micros) * PER_OCTAVE));
}

function countIn(buckets: number[], bucket: number, more: number): void {
  while (buckets.length <= bucket) buckets.push(0);
  buckets[bucket] = (buckets[bucket] ?? 0) + more;
}

function phasesData(phases: ReadonlyMap<Phase, Counts>): Record<Phase, Histogram> {
  const inOrder = PHASES.flatMap((phase) => {
    const counts = phases.get(phase);
    return counts === undefined ? [] : [[phase, histogramOf(counts)]];
  });
  return Object.fromEntries(inOrder) as Record<Phase, Histogram>;
}

function histogramOf({ count, total, max, buckets }: Counts): Histogram {
  const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000;
  const used = [...buckets.entries()].filter(([, inIt]) => inIt > 0);
  return { count, total: rounded(total), max: rounded(max), buckets: used };
}
