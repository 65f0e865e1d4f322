import { rmSync } from 'node:fs';
import { join } from 'node:path';

/** A measured number beside the bar that 80-quality sets for it. */
export interface Figure {
  readonly name: string;
  readonly against: string;
  readonly value: number;
  readonly unit: '%' | '×' | 'ms' | 's' | 'MB';
  readonly least?: number;
  readonly most?: number;
  /** What it was made of: medians of the rounds. */
  readonly from: Readonly<Record<string, number>>;
}

export function holds({ value, least, most }: Figure): boolean {
  return (least === undefined || value >= least) && (most === undefined || value <= most);
}

/** How the benchmarks are run. */
export class Bench {
  readonly rounds: number;
  readonly quick: boolean;
  readonly folder: string;
  #places = 0;

  constructor(options: { readonly rounds: number; readonly quick: boolean; readonly folder: string }) {
    this.rounds = options.rounds;
    this.quick = options.quick;
    this.folder = options.folder;
  }

  /** `many`, or a tenth of it with `--quick`. */
  size(many: number): number {
    return this.quick ? many / 10 : many;
  }

  /** A name below the folder that was never used. */
  place(): string {
    return join(this.folder, String(++this.#places));
  }

  /** Runs a round so many times, and removes what it has left. */
  async repeat<Result>(what: string, round: () => Promise<Result>): Promise<Result[]> {
    const results: Result[] = [];
    for (let number = 1; number <= this.rounds; number++)
      results.push(await this.once(`${what}: round ${number} of ${this.rounds}`, round));
    return results;
  }

  async once<Result>(what: string, round: () => Promise<Result>): Promise<Result> {
    process.stderr.write(`${what}\n`);
    const first = this.#places + 1;
    const result = await round();
    for (let place = first; place <= this.#places; place++)
      rmSync(join(this.folder, String(place)), { recursive: true, force: true });
    return result;
  }
}

/** The median of a number of each result. */
export function medianOf<Result>(results: readonly Result[], number: (result: Result) => number): number {
  const sorted = results.map(number).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 100) / 100;
}
