import type { PlannedDataset, ShownCalls } from '../play/index.ts';
import { roundedCredits } from '../scope/index.ts';
import type { Workspace } from './open.ts';

/** What calls of a row may cost, by the play's text and the catalogue's prices. */
export interface RowCost {
  /** The most credits; null where nothing bounds them. */
  readonly most: number | null;
  /** The most of what can be counted, with every loop gone through once: `most` where that is a bound. */
  readonly counted: number;
  /** Why there may be more, for people; empty where `most` is a bound. */
  readonly unbounded: readonly string[];
}

export function costOfCalls({ catalogue }: Workspace, calls: ShownCalls): RowCost {
  const priceOf = (tool: string): number | undefined =>
    catalogue.has(tool) ? catalogue.get(tool).maxCredits : undefined;
  const mayCost = catalogue.list().some(({ maxCredits }) => maxCredits > 0);
  const unbounded: string[] = [];
  let counted = 0;
  for (const [tool, count] of calls.tools) {
    const price = priceOf(tool);
    if (price === undefined) unbounded.push(`the price of ${tool} is not known`);
    else counted += (Number.isFinite(count) ? count : 1) * price;
  }
  for (const { tool, why } of calls.repeats)
    if (tool !== null && priceOf(tool) !== 0) unbounded.push(`${why} (${tool})`);
  if (mayCost) {
    if (calls.computed > 0) unbounded.push("a tool's id is computed");
    unbounded.push(...calls.hidden);
  }
  return { most: unbounded.length === 0 ? roundedCredits(counted) : null, counted: roundedCredits(counted), unbounded };
}

/** What one row of a dataset may cost. */
export function costOfRow(workspace: Workspace, { columns }: Pick<PlannedDataset, 'columns'>): RowCost {
  const costs = columns.flatMap(({ legs }) => legs.map(({ calls }) => costOfCalls(workspace, calls)));
  const counted = roundedCredits(costs.reduce((sum, cost) => sum + cost.counted, 0));
  const unbounded = [...new Set(costs.flatMap((cost) => cost.unbounded))];
  return { most: unbounded.length === 0 ? counted : null, counted, unbounded };
}
