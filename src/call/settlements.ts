import type { Place } from '../scope/index.ts';

/**
 * Credits that the calls of unfinished rows have settled, until the row's record takes them.
 *
 * Invariant: what was added for a row is taken once.
 */
export class Settlements {
  readonly #byRow = new Map<number, Map<number, number>>();

  add(place: Place, credits: number): void {
    if (credits === 0 || place.datasetNo === 0) return;
    let rows = this.#byRow.get(place.datasetNo);
    if (rows === undefined) {
      rows = new Map();
      this.#byRow.set(place.datasetNo, rows);
    }
    rows.set(place.ordinal, (rows.get(place.ordinal) ?? 0) + credits);
  }

  take(datasetNo: number, ordinal: number): number {
    const rows = this.#byRow.get(datasetNo);
    const credits = rows?.get(ordinal);
    if (rows === undefined || credits === undefined) return 0;
    rows.delete(ordinal);
    return credits;
  }
}
