import { roundedCredits } from '../scope/index.ts';
import type { ToolTotals } from './port.ts';

/** Adds to the entry of the same dataset, path, tool, source and outcome. */
export function addTotals(totals: Map<string, ToolTotals>, more: ToolTotals): void {
  const key = JSON.stringify([more.datasetNo, more.path, more.tool, more.source, more.outcome]);
  const known = totals.get(key);
  totals.set(
    key,
    known === undefined
      ? more
      : { ...known, calls: known.calls + more.calls, credits: roundedCredits(known.credits + more.credits) },
  );
}

/** By dataset, path, tool, source and outcome. */
export function inOrder(totals: ReadonlyMap<string, ToolTotals>): readonly ToolTotals[] {
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return [...totals.values()].sort(
    (a, b) =>
      a.datasetNo - b.datasetNo ||
      compare(a.path, b.path) ||
      compare(a.tool, b.tool) ||
      compare(a.source, b.source) ||
      compare(a.outcome, b.outcome),
  );
}
