import type { PlanCounts } from '../run/index.ts';
import { durationMs } from '../scope/index.ts';
import type { CatalogueTool } from '../tool/index.ts';
import { rounded } from './show.ts';

export interface CreditsJson {
  readonly least: number;
  readonly expected: number;
  readonly most: number;
}

export interface PlanLegJson {
  /** Column and steps. */
  readonly leg: string;
  /** Null where nothing tells which tool the leg calls. */
  readonly tool: string | null;
  readonly calls: {
    /** Expected number of calls that are bought. */
    readonly new: number;
    readonly receipt: number;
    readonly skipped: number;
    /** Expected new calls that the credit limit would not allow. */
    readonly blocked: number;
  };
  readonly credits: CreditsJson;
}

export interface PlanJson {
  readonly play: string;
  readonly datasets: readonly {
    readonly key: string;
    readonly rows: number;
    readonly columns: readonly { readonly name: string; readonly legs: readonly PlanLegJson[] }[];
  }[];
  readonly credits: CreditsJson;
  readonly seconds: { readonly atDeclaredLimits: number };
  /** What the numbers rest on where it is not every row: `{ rows, of }`, scaled up. */
  readonly sample: { readonly rows: number; readonly of: number } | null;
  /** False where the play could not be followed to its end, so that it may cost more than `most`. */
  readonly isWhole: boolean;
  /** What the plan could not see past. */
  readonly notes: readonly string[];
}

/** What earlier runs tell about a play and its tools. */
export interface Experience {
  tool(id: string): CatalogueTool | undefined;
  /** Share of a tool's answers that were a result, 0 to 1; undefined where it has never been asked. */
  hitRate(tool: string): number | undefined;
  /** Mean credits of a bought answer. */
  meanCredits(tool: string): number | undefined;
  /** Calls per row that earlier runs of this play made from a leg. */
  callsPerRow(dataset: string, leg: string): number | undefined;
  /** Tools that the play's text, or an earlier run, shows at a leg. */
  toolsOf(dataset: string, leg: string): readonly string[];
}

export interface PlanFacts {
  readonly play: string;
  readonly counts: PlanCounts;
  readonly experience: Experience;
  /** Rows planned and rows there are; the same where no sample was taken. */
  readonly sample: { readonly rows: number; readonly of: number };
  readonly maxCredits: number | null;
}

interface LegEstimate {
  readonly leg: string;
  readonly tool: string | null;
  readonly receipt: number;
  readonly skipped: number;
  /** Calls that are new in the least, expected and worst case. */
  readonly calls: CreditsJson;
  readonly credits: CreditsJson;
}

/** Holds what a plan counted against what earlier runs tell. Pure. */
export function planJson(facts: PlanFacts): PlanJson {
  const { counts, sample, maxCredits } = facts;
  const scale = sample.rows === 0 ? 1 : sample.of / sample.rows;
  const datasets = counts.datasets.map((dataset) => ({
    dataset,
    columns: columnEstimates(facts, dataset, scale),
  }));
  const outside = outsideEstimates(facts);
  const all = [...datasets.flatMap(({ columns }) => columns.flatMap((column) => column.legs)), ...outside];
  const total = sumOf(all.map((leg) => leg.credits));
  const capped = maxCredits === null ? total : atMost(total, maxCredits);
  const blockedShare = maxCredits === null || total.expected <= maxCredits ? 0 : 1 - maxCredits / total.expected;
  return {
    play: facts.play,
    datasets: datasets.map(({ dataset, columns }) => ({
      key: dataset.key,
      rows: Math.round(dataset.total * scale),
      columns: columns.map(({ name, legs }) => ({ name, legs: legs.map((leg) => legJson(leg, blockedShare)) })),
    })),
    credits: capped,
    seconds: { atDeclaredLimits: secondsAt(all, facts.experience) },
    sample: sample.rows < sample.of ? sample : null,
    isWhole: counts.stops.length === 0,
    notes: notesOf(facts),
  };
}

function columnEstimates(
  facts: PlanFacts,
  dataset: PlanCounts['datasets'][number],
  scale: number,
): { readonly name: string; readonly legs: readonly LegEstimate[] }[] {
  const { counts, experience } = facts;
  const { datasetNo, key } = dataset;
  const fresh = counts.fresh.filter((call) => call.datasetNo === datasetNo);
  const answered = counts.answered.filter((call) => call.datasetNo === datasetNo);
  // Rows on their way: those that stopped at an earlier leg and may still come here.
  let onTheWay = 0;
  return dataset.columns.map(({ name, legs }) => {
    // Within a column, a row comes to the next leg only where the legs before it found nothing.
    let arriving = onTheWay;
    const estimates: LegEstimate[] = [];
    for (const leg of legs) {
      const here = fresh.filter((call) => call.path === leg || call.path.startsWith(`${leg}.`));
      const tools = [...new Set([...here.map((call) => call.tool), ...experience.toolsOf(key, leg)])];
      const stopped = here.reduce((sum, call) => sum + call.stopped, 0);
      const seen = experience.callsPerRow(key, leg);
      const skipped = dataset.legs.find((one) => one.path === leg)?.skipped ?? 0;
      for (const tool of tools.length === 0 ? [null] : tools) {
        const certain = here.filter((call) => call.tool === tool).reduce((sum, call) => sum + call.fresh, 0);
        const likely = Math.min(onTheWay, seen === undefined ? arriving : onTheWay * seen);
        const calls = {
          least: certain,
          expected: certain + (tool === null ? 0 : likely),
          most: certain + (tool === null ? 0 : onTheWay),
        };
        const receipt = answered
          .filter((call) => call.path === leg && call.tool === tool)
          .reduce((sum, call) => sum + call.calls, 0);
        const shared = here.filter((call) => call.tool === tool).reduce((sum, call) => sum + call.shared, 0);
        estimates.push({
          leg,
          tool,
          receipt: (receipt + shared) * scale,
          skipped: skipped * scale,
          calls: scaled(calls, scale),
          credits: scaled(creditsOf(experience, tool, calls), scale),
        });
      }
      onTheWay += stopped;
      const rates = tools.map((tool) => experience.hitRate(tool) ?? 0);
      arriving = (arriving + stopped) * (1 - Math.max(0, ...rates));
    }
    return { name, legs: estimates };
  });
}

function outsideEstimates({ counts, experience }: PlanFacts): LegEstimate[] {
  return counts.fresh
    .filter((call) => call.datasetNo === 0)
    .map((call) => {
      const calls = { least: call.fresh, expected: call.fresh, most: call.fresh };
      return {
        leg: call.path,
        tool: call.tool,
        receipt: 0,
        skipped: 0,
        calls,
        credits: creditsOf(experience, call.tool, calls),
      };
    });
}

function creditsOf(experience: Experience, toolId: string | null, calls: CreditsJson): CreditsJson {
  const tool = toolId === null ? undefined : experience.tool(toolId);
  if (tool === undefined) return { least: 0, expected: 0, most: 0 };
  const { cost } = tool.definition;
  const max = tool.maxCredits;
  const free = typeof cost?.credits === 'function' || cost?.per === 'result';
  const mean =
    experience.meanCredits(tool.id) ?? (cost?.per === 'result' ? max * (experience.hitRate(tool.id) ?? 1) : max);
  return { least: calls.least * (free ? 0 : max), expected: calls.expected * mean, most: calls.most * max };
}

function secondsAt(legs: readonly LegEstimate[], experience: Experience): number {
  const perAccount = new Map<string, { calls: number; rate: number }>();
  for (const leg of legs) {
    const tool = leg.tool === null ? undefined : experience.tool(leg.tool);
    if (tool === undefined) continue;
    const rates = (tool.account.limits.rate ?? []).map(({ calls, per }) => (calls * 1000) / (durationMs(per) ?? 1000));
    const before = perAccount.get(tool.account.key)?.calls ?? 0;
    perAccount.set(tool.account.key, {
      calls: before + leg.calls.expected,
      rate: Math.min(Number.POSITIVE_INFINITY, ...rates),
    });
  }
  const seconds = [...perAccount.values()].map(({ calls, rate }) =>
    rate === Number.POSITIVE_INFINITY ? 0 : calls / rate,
  );
  return Math.ceil(Math.max(0, ...seconds));
}

function legJson(leg: LegEstimate, blockedShare: number): PlanLegJson {
  return {
    leg: leg.leg,
    tool: leg.tool,
    calls: {
      new: Math.round(leg.calls.expected),
      receipt: Math.round(leg.receipt),
      skipped: Math.round(leg.skipped),
      blocked: Math.round(leg.calls.expected * blockedShare),
    },
    credits: {
      least: rounded(leg.credits.least),
      expected: rounded(leg.credits.expected),
      most: rounded(leg.credits.most),
    },
  };
}

/** Whether a leg's tool is known, or every row has been through it without a call. */
function isSeen({ counts, experience }: PlanFacts, dataset: PlanCounts['datasets'][number], leg: string): boolean {
  const isHere = (call: { datasetNo: number; path: string }): boolean =>
    call.datasetNo === dataset.datasetNo && (call.path === leg || call.path.startsWith(`${leg}.`));
  if (counts.fresh.some(isHere) || counts.answered.some(isHere) || dataset.waiting === 0) return true;
  return experience.toolsOf(dataset.key, leg).length > 0;
}

function notesOf(facts: PlanFacts): string[] {
  const { counts, sample } = facts;
  const notes: string[] = [];
  if (sample.rows < sample.of) notes.push(`Planned on the first ${sample.rows} of ${sample.of} rows and scaled up.`);
  const unseen = counts.datasets.flatMap((dataset) =>
    dataset.columns.flatMap(({ legs }) => legs.filter((leg) => !isSeen(facts, dataset, leg))),
  );
  if (unseen.length > 0)
    notes.push(`No tool is known at ${unseen.slice(0, 8).join(', ')}: if these call tools, they are not counted.`);
  for (const stop of counts.stops) notes.push(`Could not see past ${stop}, which a plan does not run.`);
  if (counts.error !== undefined)
    notes.push(`The play failed while it was planned: ${String((counts.error as Error).message ?? counts.error)}`);
  return notes;
}

function scaled(of: CreditsJson, by: number): CreditsJson {
  return { least: of.least * by, expected: of.expected * by, most: of.most * by };
}

function atMost(of: CreditsJson, limit: number): CreditsJson {
  return { least: Math.min(of.least, limit), expected: Math.min(of.expected, limit), most: Math.min(of.most, limit) };
}

function sumOf(all: readonly CreditsJson[]): CreditsJson {
  const sum = (pick: (one: CreditsJson) => number): number => rounded(all.reduce((total, one) => total + pick(one), 0));
  return { least: sum((one) => one.least), expected: sum((one) => one.expected), most: sum((one) => one.most) };
}
