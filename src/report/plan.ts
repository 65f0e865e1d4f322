import { roundedCredits } from '../scope/index.ts';
import { type Beyond, datasetsBeyond, datasetsUnknown, outsideEstimates } from './plan-beyond.ts';
import { type LegEstimate, LegForecast, type PlanFacts, type Spread } from './plan-legs.ts';
import { type PlanSeconds, secondsAtLimits } from './plan-time.ts';

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
  readonly credits: Spread;
}

export interface PlanJson {
  readonly play: string;
  readonly datasets: readonly {
    readonly key: string;
    readonly rows: number;
    readonly columns: readonly { readonly name: string; readonly legs: readonly PlanLegJson[] }[];
  }[];
  readonly credits: Spread;
  readonly seconds: PlanSeconds;
  /** What the numbers rest on where it is not every row: `{ rows, of }`, scaled up. */
  readonly sample: { readonly rows: number; readonly of: number } | null;
  /** The earlier run that tells how rows go on; null where there is none. */
  readonly pilot: { readonly run: string; readonly rows: number; readonly isSameCode: boolean } | null;
  /** False where the play could not be followed to its end, so that it may cost more than `most`. */
  readonly isWhole: boolean;
  /** What the plan could not see past, and what it takes for granted. */
  readonly notes: readonly string[];
}

interface Forecast {
  readonly legs: LegForecast;
  readonly rows: number;
  readonly estimates: readonly LegEstimate[];
}

/** Holds what a plan counted against what earlier runs tell. Pure. */
export function planJson(facts: PlanFacts): PlanJson {
  const { counts, experience, sample, maxCredits } = facts;
  const scale = sample.rows === 0 ? 1 : sample.of / sample.rows;
  const counted = counts.datasets.map((dataset): Forecast => {
    const legs = new LegForecast(dataset, counts, experience);
    const rows = Math.round(dataset.total * scale);
    return { legs, rows, estimates: legs.legs(scale, rows - dataset.total) };
  });
  const beyond = datasetsBeyond(facts, scale);
  const datasets = datasetsJson(counted, beyond);
  const all = [...datasets.flatMap(({ estimates }) => estimates), ...outsideEstimates(facts)];
  const total = sumOf(all.map((leg) => leg.credits));
  const capped = maxCredits === null ? total : atMost(total, maxCredits);
  const blocked = maxCredits === null || total.expected <= maxCredits ? 0 : 1 - maxCredits / total.expected;
  const { pilot } = experience;
  const rows = pilot?.datasets.reduce((sum, dataset) => sum + dataset.rows.length, 0) ?? 0;
  return {
    play: facts.play,
    datasets: datasets.map(({ key, rows: of, columns, estimates }) => ({
      key,
      rows: of,
      columns: columns.map((name) => ({
        name,
        legs: estimates.filter(({ column }) => column === name).map((leg) => legJson(leg, blocked)),
      })),
    })),
    credits: capped,
    seconds: secondsAtLimits(all, experience),
    sample: sample.rows < sample.of ? sample : null,
    pilot: pilot === undefined ? null : { run: pilot.runId, rows, isSameCode: pilot.isSameCode },
    isWhole: isWhole(facts, counted, beyond),
    notes: notesOf(facts, counted, beyond),
  };
}

interface DatasetEstimate {
  readonly key: string;
  readonly rows: number;
  readonly columns: readonly string[];
  readonly estimates: readonly LegEstimate[];
}

/** The datasets that the plan counted, and those, or parts of them, that only the pilot tells of. */
function datasetsJson(counted: readonly Forecast[], beyond: readonly Beyond[]): DatasetEstimate[] {
  const own = counted.map(({ legs, rows, estimates }): DatasetEstimate => {
    const { key, columns } = legs.dataset;
    const instead = beyond.find((one) => one.key === key);
    const names = columns.map(({ name }) => name);
    if (instead === undefined) return { key, rows, columns: names, estimates };
    // Its rows rest on cells that were not there: as far as they were, the plan's own count stands.
    const kept = estimates.map((leg) => shareOf(leg, 1 - instead.share));
    return { key, rows: instead.rows, columns: names, estimates: [...kept, ...instead.legs] };
  });
  const others = beyond.filter(({ key }) => !own.some((one) => one.key === key));
  return [
    ...own,
    ...others.map(({ key, rows, legs }) => ({
      key,
      rows,
      columns: [...new Set(legs.map(({ column }) => column))],
      estimates: legs,
    })),
  ];
}

function shareOf(leg: LegEstimate, share: number): LegEstimate {
  const part = ({ least, expected, most }: Spread): Spread => ({
    least: least * share,
    expected: expected * share,
    most,
  });
  return { ...leg, receipt: leg.receipt * share, calls: part(leg.calls), credits: part(leg.credits) };
}

function isWhole(facts: PlanFacts, counted: readonly Forecast[], beyond: readonly Beyond[]): boolean {
  const { counts, experience } = facts;
  if (isCutOff(facts, counted)) return false;
  if (counts.isCutShort || beyond.length > 0 || counted.some(({ legs }) => legs.isBlind)) return false;
  if (datasetsUnknown(facts).length > 0) return false;
  // Only a text that names every call bounds what rows may cost that go on unlike those of the pilot.
  if (counted.some(({ legs }) => legs.varying.length + legs.hidden.length > 0)) return false;
  // A play may fail because cells are not there, and go on where they are.
  const mayGoOn = counts.error !== undefined && counts.datasets.some(({ waiting }) => waiting > 0);
  return !mayGoOn || experience.pilot?.isSameCode === true;
}

/** A later dataset had no rows in the pilot, and calls that all failed may be why. */
function isCutOff({ experience }: PlanFacts, counted: readonly Forecast[]): boolean {
  const isEmpty = experience.pilot?.datasets.some(({ total }) => total === 0) ?? false;
  return isEmpty && counted.some(({ legs }) => legs.failing.length > 0);
}

function notesOf(facts: PlanFacts, counted: readonly Forecast[], beyond: readonly Beyond[]): string[] {
  const { counts, sample, experience } = facts;
  const { pilot } = experience;
  const notes: string[] = [];
  if (sample.rows < sample.of) notes.push(`Planned on the first ${sample.rows} of ${sample.of} rows and scaled up.`);
  if (pilot !== undefined && !pilot.isSameCode)
    notes.push(`How rows go on is taken from ${pilot.runId}, which ran other code of this play.`);
  if (counted.some(({ legs }) => legs.isGuessed && legs.failing.length === 0))
    notes.push(
      'No earlier run tells how rows go on: one call of each tool a leg is counted, as often as the tools before it miss. A pilot tells more: callsheet run … --limit 500',
    );
  for (const { leg, tool, calls } of counted.flatMap(({ legs }) => legs.failing))
    notes.push(
      `All ${calls} calls of ${tool} at ${leg} failed in ${pilot?.runId}: they tell neither the cost nor how rows go on, so both are counted as without that run. A pilot of the mended tool tells more.`,
    );
  const varying = counted.flatMap(({ legs }) => legs.varying);
  if (varying.length > 0)
    notes.push(
      `Rows call as often as they need at ${listed(varying)}; most counts the highest number of any earlier row, and one a row where there is none.`,
    );
  const hidden = counted.flatMap(({ legs }) => legs.hidden);
  if (hidden.length > 0)
    notes.push(
      `The play's text does not tell every call at ${listed(hidden)}: what these may cost beyond earlier rows is not in most.`,
    );
  if (counts.isCutShort || counted.some(({ legs }) => legs.isBlind))
    for (const stop of counts.stops) notes.push(`Could not see past ${stop}, which a plan does not run.`);
  for (const { key, rows } of beyond)
    notes.push(`Rows of '${key}' come from what is not there yet; ${rows} are expected, as in ${pilot?.runId}.`);
  const unknown = datasetsUnknown(facts).filter((name) => !beyond.some(({ key }) => name === `'${key}'`));
  if (unknown.length > 0)
    notes.push(
      `How many rows ${unknown.length === 1 ? 'this dataset has' : 'these datasets have'} may rest on answers that are not there yet: ${listed(unknown)}.`,
    );
  const chargedAgain = counted.flatMap(({ estimates }) =>
    estimates.filter((leg) => mayBeChargedAgain(leg, experience)),
  );
  if (chargedAgain.length > 0)
    notes.push(
      `Tries that fail may be charged besides, of what sends no idempotency key: ${listed([...new Set(chargedAgain.map(({ tool }) => tool ?? ''))])}. They are not in most; a limit counts them.`,
    );
  if (counts.error !== undefined)
    notes.push(`The play failed while it was planned: ${String((counts.error as Error).message ?? counts.error)}`);
  return notes;
}

function mayBeChargedAgain({ tool: id }: LegEstimate, { tool: toolOf }: PlanFacts['experience']): boolean {
  const tool = id === null ? undefined : toolOf(id);
  return tool !== undefined && tool.maxCredits > 0 && tool.maxTries > 1 && !tool.sendsIdempotencyKey;
}

function listed(legs: readonly string[]): string {
  return legs.slice(0, 8).join(', ');
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
      least: roundedCredits(leg.credits.least),
      expected: roundedCredits(leg.credits.expected),
      most: roundedCredits(leg.credits.most),
    },
  };
}

function atMost(of: Spread, limit: number): Spread {
  return { least: Math.min(of.least, limit), expected: Math.min(of.expected, limit), most: Math.min(of.most, limit) };
}

function sumOf(all: readonly Spread[]): Spread {
  const sum = (pick: (one: Spread) => number): number =>
    roundedCredits(all.reduce((total, one) => total + pick(one), 0));
  return { least: sum((one) => one.least), expected: sum((one) => one.expected), most: sum((one) => one.most) };
}
