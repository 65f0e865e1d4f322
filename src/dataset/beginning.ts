import type { Column } from './columns.ts';
import type { Frame } from './frame-rows.ts';
import type { DatasetHost } from './host.ts';
import { readPlan } from './plan.ts';
import { type LegTrace, readCells, readTrace } from './record.ts';
import { recordsAt } from './row-records.ts';

/** What a row has before it runs: its first cells, and how their legs had ended. */
export interface Beginning {
  readonly cells: readonly unknown[];
  readonly legs: readonly LegTrace[];
}

/**
 * The first cells of the rows of a rerun that begins at a column: as the source run recorded them.
 *
 * Invariant: a row gets no more cells than stand before that column, than its record has, and than both definitions of the
 * dataset have in common; a row without a record gets none.
 */
export class Beginnings {
  readonly #frame: Frame;
  readonly #runNo: number;
  readonly #count: number;
  readonly #legs: readonly string[];

  private constructor(
    frame: Frame,
    from: { readonly runNo: number; readonly count: number; readonly legs: readonly string[] },
  ) {
    this.#frame = frame;
    this.#runNo = from.runNo;
    this.#count = from.count;
    this.#legs = from.legs;
  }

  /** Undefined where rows begin as usual. */
  static async load(host: DatasetHost, frame: Frame, columns: readonly Column[]): Promise<Beginnings | undefined> {
    if (host.beginsAt === undefined) return undefined;
    const { column, runNo } = host.beginsAt;
    const at = columns.findIndex(({ name }) => name === column);
    const source = (await host.reads.frames(runNo)).find(({ datasetNo }) => datasetNo === frame.record.datasetNo);
    if (source === undefined || at < 1) return undefined;
    const recorded = readPlan(source).columns;
    let count = 0;
    while (count < at && recorded[count]?.name === columns[count]?.name) count++;
    const legs = recorded.flatMap((one) => one.legs);
    return count === 0 ? undefined : new Beginnings(frame, { runNo, count, legs });
  }

  /** @param ordinals ascending */
  async of(ordinals: readonly number[]): Promise<ReadonlyMap<number, Beginning>> {
    const { reads, record } = this.#frame;
    const records = await recordsAt({ reads, runNo: this.#runNo, datasetNo: record.datasetNo }, ordinals);
    const found = new Map<number, Beginning>();
    for (const [ordinal, row] of records) {
      const legs = row.trace === null ? [] : readTrace(row.trace, this.#legs);
      found.set(ordinal, { cells: readCells(row).slice(0, this.#count), legs });
    }
    return found;
  }
}
