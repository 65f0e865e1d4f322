import { roundedCredits } from '../scope/index.ts';
import type { LegCounts } from './port.ts';

/** Adds to the entry of the same state and letters. */
export function addLegCounts(counts: Map<string, LegCounts>, more: LegCounts): void {
  const id = `${more.state}|${more.legs}`;
  const { rows = 0, credits = 0 } = counts.get(id) ?? {};
  counts.set(id, { ...more, rows: rows + more.rows, credits: roundedCredits(credits + more.credits) });
}

/** By state, then letters. */
export function legCountsInOrder(counts: ReadonlyMap<string, LegCounts>): readonly LegCounts[] {
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}
