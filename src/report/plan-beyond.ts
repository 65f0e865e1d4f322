import { freshAmong, laterOf, mostOf } from './forecast.ts';
import type { PilotDataset, PilotRow } from './pilot.ts';
import { creditsOf, type LegEstimate, type PlanFacts } from './plan-legs.ts';

/** A dataset, or a part of one, that a plan did not get to: as the pilot had it. */
export interface Beyond {
  readonly key: string;
  readonly rows: number;
  /** Of the dataset: 1 where the plan has nothing of it that can be relied on. */
  readonly share: number;
  readonly legs: readonly LegEstimate[];
}

/**
 * Datasets of the pilot whose rows, or whose number of rows, rest on what a plan does not have: cells of an earlier dataset,
 * or an answer outside datasets.
 */
export function datasetsBeyond(facts: PlanFacts, scale: number): readonly Beyond[] {
  const { counts, experience } = facts;
  const { pilot } = experience;
  if (pilot === undefined) return [];
  const ratio = growth(facts, scale);
  let missing = 0;
  const beyond: Beyond[] = [];
  for (const dataset of pilot.datasets) {
    const planned = counts.datasets.find(({ key }) => key === dataset.key);
    // A play that failed where cells were not there goes on where they are.
    const isLost = planned === undefined && (counts.isCutShort || (counts.error !== undefined && missing > 0));
    const share = isLost ? 1 : missing;
    if (share > 0 && dataset.rows.length > 0) {
      const rows = Math.round(dataset.total * ratio);
      beyond.push({ key: dataset.key, rows, share, legs: legsOf(facts, dataset, rows * share) });
    }
    if (planned !== undefined && planned.total > 0) missing = Math.max(missing, planned.waiting / planned.total);
  }
  return beyond;
}

/**
 * Datasets that may cost, and whose rows, or whether there are any, may rest on cells of an earlier one that are not there yet:
 * by their keys, or `one with a computed key`. An empty one in a pilot tells nothing: other answers may fill it.
 */
export function datasetsUnknown({ counts, experience }: PlanFacts): readonly string[] {
  const first = counts.datasets.findIndex(({ waiting }) => waiting > 0);
  if (first === -1) return [];
  const shown = new Map(experience.datasets.map(({ key, mayCost }) => [key, mayCost]));
  const planned = counts.datasets.map(({ key }) => key);
  const later = planned.slice(first + 1).filter((key) => shown.get(key) ?? shown.get(null) ?? experience.mayCost);
  const missing = [...shown].filter(([key, mayCost]) => {
    const isPlanned = key === null ? planned.some((one) => !shown.has(one)) : planned.includes(key);
    return mayCost && !isPlanned;
  });
  return [...later.map(quoted), ...missing.map(([key]) => (key === null ? 'one with a computed key' : quoted(key)))];
}

function quoted(key: string): string {
  return `'${key}'`;
}

/** How many times the pilot's rows this run has. */
function growth({ counts, experience, sample }: PlanFacts, scale: number): number {
  const { pilot } = experience;
  const [first] = counts.datasets;
  const before = pilot?.datasets.find(({ key }) => key === first?.key);
  if (first !== undefined && before !== undefined && before.total > 0) return (first.total * scale) / before.total;
  const rows = sample.rows < sample.of ? sample.of : counts.largestFile;
  return pilot?.fileRows == null || pilot.fileRows === 0 || rows === 0 ? 1 : rows / pilot.fileRows;
}

function legsOf({ experience }: PlanFacts, { rows }: PilotDataset, count: number): LegEstimate[] {
  const places = new Map<string, { path: string; tool: string }>();
  for (const { calls } of rows) for (const { path, tool } of calls) places.set(`${path}|${tool}`, { path, tool });
  return [...places.values()].map(({ path, tool }) => {
    const isThere = (call: { readonly path: string; readonly tool: string }): boolean =>
      call.path === path && call.tool === tool;
    const { callsPerRow, fresh } = laterOf(rows, isThere);
    const expected = freshAmong(count * callsPerRow, fresh, experience.tool(tool)?.reuseScope !== 'run');
    const calls = { least: 0, expected, most: count * mostOf(rows, isThere) };
    return {
      ...{ column: path.split('.')[0] ?? path, leg: path, tool, receipt: 0, skipped: 0, calls },
      credits: creditsOf(experience, tool, { calls, made: madeAt(rows, isThere) }),
    };
  });
}

function madeAt(rows: readonly PilotRow[], isThere: (call: PilotRow['calls'][number]) => boolean): PilotRow['calls'] {
  return rows.flatMap(({ calls }) => calls.filter(isThere));
}

/** Calls outside datasets; where the plan came no further than one of them, also those that the pilot made there. */
export function outsideEstimates({ counts, experience }: PlanFacts): LegEstimate[] {
  const places = new Map<string, { path: string; tool: string; fresh: number; known: number; earlier: number }>();
  const at = (path: string, tool: string) => {
    const before = places.get(`${path}|${tool}`);
    const place = before ?? { path, tool, fresh: 0, known: 0, earlier: 0 };
    if (before === undefined) places.set(`${path}|${tool}`, place);
    return place;
  };
  for (const { path, tool, fresh, shared } of counts.fresh.filter(({ datasetNo }) => datasetNo === 0)) {
    at(path, tool).fresh += fresh;
    at(path, tool).known += fresh + shared;
  }
  for (const { path, tool, calls } of counts.answered.filter(({ datasetNo }) => datasetNo === 0))
    at(path, tool).known += calls;
  if (counts.isCutShort)
    for (const { path, tool, calls } of experience.pilot?.outside ?? []) at(path, tool).earlier += calls;
  return [...places.values()].map(({ path, tool, fresh, known, earlier }) => {
    const all = fresh + Math.max(0, earlier - known);
    const calls = { least: fresh, expected: all, most: all };
    const receipt = Math.max(0, known - fresh);
    return {
      ...{ column: '', leg: path, tool, receipt, skipped: 0, calls },
      credits: creditsOf(experience, tool, { calls, made: [] }),
    };
  });
}
