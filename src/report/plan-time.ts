import { durationMs } from '../scope/index.ts';
import type { RateLimit } from '../sdk/index.ts';
import type { Experience, LegEstimate } from './plan-legs.ts';

export interface PlanSeconds {
  readonly atDeclaredLimits: number;
  /** False where none of the tools' accounts has a declared rate, so that `atDeclaredLimits` says nothing. */
  readonly isDeclared: boolean;
}

interface Load {
  operations: number;
  readonly rates: readonly RateLimit[];
}

/** The governor keeps windows so much longer than declared, against jitter on the way. */
const MARGIN = 1.016;

/** Seconds that the calls take at the declared rates, as long as the account that takes longest, and whether there are any. */
export function secondsAtLimits(legs: readonly LegEstimate[], experience: Experience): PlanSeconds {
  const accounts = new Map<string, Load>();
  for (const leg of legs) {
    const tool = leg.tool === null ? undefined : experience.tool(leg.tool);
    if (tool === undefined) continue;
    const { key, limits } = tool.account;
    const load = accounts.get(key) ?? { operations: 0, rates: limits.rate ?? [] };
    const together = 'batch' in tool.definition ? (tool.definition.batch?.maxSize ?? 1) : 1;
    // A job is started and looked at once, at the least.
    const requests = tool.definition.async === undefined ? 1 : 2;
    load.operations += (leg.calls.expected * requests) / together;
    accounts.set(key, load);
  }
  const times = [...accounts.values()].flatMap(({ operations, rates }) => rates.map((rate) => msOf(operations, rate)));
  return { atDeclaredLimits: Math.ceil(Math.max(0, ...times) / 1000), isDeclared: times.length > 0 };
}

/** A window that is not full holds nothing back: the last of so many calls goes out in its last window. */
function msOf(operations: number, { calls, per, smooth = false }: RateLimit): number {
  const perMs = (durationMs(per) ?? 1_000) * MARGIN;
  const before = Math.max(0, operations - 1);
  return smooth ? (before / calls) * perMs : Math.floor(before / calls) * perMs;
}
