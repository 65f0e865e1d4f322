import { frameName } from '../dataset/index.ts';
import { roundedCredits } from '../scope/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { FrameRecord, RunRecord, ToolTotals } from '../store/index.ts';
import { columnNamesOf, creditPlaces } from './credit-places.ts';
import { doubtsOf } from './doubts.ts';
import { framesOf } from './frames.ts';
import { nextCommands } from './next.ts';
import { type AccountJson, publishedAccounts } from './published.ts';
import type { ReportSource } from './reads.ts';
import { optionsOf, type RunJson, runJson, type ShownStatus, statusIn } from './run-json.ts';
import { creditsOf, unknownCalls } from './unknown-credits.ts';
import { type WaitingJson, waitingOf } from './waiting.ts';

export interface DatasetJson {
  readonly key: string;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Parked rows. */
  readonly waiting: number;
  /** Rows that are neither finished nor parked: not begun, or cut short. */
  readonly unfinished: number;
  readonly credits: number;
}

export interface ToolCallsJson {
  readonly live: number;
  readonly receipt: number;
  readonly coalesced: number;
  readonly sourceRun: number;
  /** Refused before anything went out. */
  readonly unsent: number;
  readonly hits: number;
  readonly noResult: number;
  readonly failed: number;
  readonly credits: number;
}

export type StepJson =
  | { readonly kind: 'csv'; readonly label: string; readonly rows: number }
  | { readonly kind: 'step' | 'fetch' | 'now'; readonly label: string }
  | { readonly kind: 'tool'; readonly label: string; readonly tool: string; readonly calls: number }
  | { readonly kind: 'dataset'; readonly label: string; readonly steps: readonly StepJson[] };

/** A run that this one has started, or that one of those has. */
export interface ChildJson {
  readonly id: string;
  readonly play: string;
  readonly status: ShownStatus;
  /** The run that started it. */
  readonly parent: string | null;
}

/** What `run --json` prints at the end, and `runs show --json` at any time. */
export interface RunReport {
  readonly run: RunJson;
  readonly result: JsonValue;
  readonly steps: readonly StepJson[];
  readonly datasets: readonly DatasetJson[];
  readonly calls: {
    readonly live: number;
    readonly receipt: number;
    readonly coalesced: number;
    readonly sourceRun: number;
    /** Refused before anything went out: a limit that was used up, say, or a write that was made already. */
    readonly unsent: number;
    /** Replayed from this run's own journal in the latest attempt; 0 once the process that did it has gone. */
    readonly journal: number;
    readonly failed: number;
    readonly byTool: Readonly<Record<string, ToolCallsJson>>;
  };
  readonly credits: {
    readonly reserved: number;
    readonly settled: number;
    /** Of those: what calls outside rows cost, which are in no cell; `why <run>` lists them. */
    readonly outsideRows: number;
    /** Of those: what calls of rows cost whose columns the code has no more; in no cell either. */
    readonly outsideColumns: number;
    /**
     * What may have been spent and is not settled: by writes in doubt, by calls whose answers were lost and, once nobody works
     * on the run, by all that it began. `why <run>` lists them.
     */
    readonly unknown: number;
    readonly limit: number | null;
  };
  /** Writes that may or may not have been done; `runs errors` lists them. */
  readonly inDoubt: number;
  /** Null unless the run's status is `waiting`. */
  readonly waiting: WaitingJson | null;
  readonly children: readonly ChildJson[];
  /** The provider accounts of a running run, as it has last published them; of any other none. */
  readonly accounts: readonly AccountJson[];
  readonly next: readonly string[];
}

/** Facts of the running process that no store holds. */
export interface LiveFacts {
  readonly journal: number;
  readonly reserved: number;
  readonly limit: number | null;
}

const SHOWN_BOUNDARIES = 200;

/** How a run stands, from what is recorded. */
export async function runReport(source: ReportSource, run: RunRecord, live?: LiveFacts): Promise<RunReport> {
  const frames = await framesOf(source, run);
  const totals = await source.report.toolTotals(run.no);
  const datasets = await Promise.all(frames.map((frame) => datasetJson(source, run, frame)));
  const byTool = callsByTool(totals);
  const sum = (pick: (calls: ToolCallsJson) => number): number =>
    Object.values(byTool).reduce((total, calls) => total + pick(calls), 0);
  const failed = datasets.reduce((total, dataset) => total + dataset.failed, 0);
  const doubts = await doubtsOf(source, run);
  const unknown = await unknownCalls(source, run, doubts);
  const waiting = await waitingOf(source, run, doubts);
  const { outsideRows, outsideColumns } = creditPlaces(totals, columnNamesOf(frames));
  return {
    run: runJson(run, statusIn(source, run)),
    result: run.result === null ? null : (JSON.parse(run.result) as JsonValue),
    steps: await stepsOf(source, run, { frames, totals }),
    datasets,
    calls: {
      live: sum((calls) => calls.live),
      receipt: sum((calls) => calls.receipt),
      coalesced: sum((calls) => calls.coalesced),
      sourceRun: sum((calls) => calls.sourceRun),
      unsent: sum((calls) => calls.unsent),
      journal: live?.journal ?? 0,
      failed: sum((calls) => calls.failed),
      byTool,
    },
    credits: {
      reserved: live?.reserved ?? 0,
      settled: roundedCredits(sum((calls) => calls.credits)),
      outsideRows,
      outsideColumns,
      unknown: creditsOf(unknown),
      limit: live === undefined ? limitOf(run) : live.limit,
    },
    inDoubt: doubts.operations.length,
    waiting,
    children: (await source.runs.childrenOf(run.id)).map((child) => childJson(source, child)),
    accounts: statusIn(source, run) === 'running' ? await publishedAccounts(source, run) : [],
    next: nextCommands(run, statusIn(source, run), {
      datasets: frames.map(frameName),
      failed,
      inDoubt: doubts.operations.length,
      waiting,
    }),
  };
}

function childJson(source: ReportSource, run: RunRecord): ChildJson {
  return { id: run.id, play: run.play, status: statusIn(source, run), parent: run.parentRunId };
}

function limitOf(run: RunRecord): number | null {
  const { maxCredits, playMaxCredits = null } = optionsOf(run);
  return maxCredits ?? playMaxCredits;
}

async function datasetJson(source: ReportSource, run: RunRecord, frame: FrameRecord): Promise<DatasetJson> {
  const counts = await source.datasets.rowCounts(run.no, frame.datasetNo);
  const { completed, failed, parked } = counts;
  const skipped = frame.total - frame.admitted;
  return {
    key: frameName(frame),
    total: frame.total,
    completed,
    failed,
    skipped,
    waiting: parked,
    unfinished: Math.max(0, frame.admitted - completed - failed - parked),
    credits: roundedCredits(counts.credits),
  };
}

const NONE: ToolCallsJson = {
  live: 0,
  receipt: 0,
  coalesced: 0,
  sourceRun: 0,
  unsent: 0,
  hits: 0,
  noResult: 0,
  failed: 0,
  credits: 0,
};
const FIELD_OF_SOURCE = {
  live: 'live',
  receipt: 'receipt',
  coalesced: 'coalesced',
  source_run: 'sourceRun',
  unsent: 'unsent',
  journal: 'live',
} as const;

function callsByTool(totals: readonly ToolTotals[]): Record<string, ToolCallsJson> {
  const byTool: Record<string, ToolCallsJson> = {};
  for (const { tool, source, outcome, calls, credits } of totals) {
    const before = byTool[tool] ?? NONE;
    const field = FIELD_OF_SOURCE[source];
    const ended = outcome === 'completed' ? 'hits' : outcome === 'no_result' ? 'noResult' : 'failed';
    byTool[tool] = {
      ...before,
      [field]: before[field] + calls,
      [ended]: before[ended] + calls,
      credits: roundedCredits(before.credits + credits),
    };
  }
  return byTool;
}

async function stepsOf(
  source: ReportSource,
  run: RunRecord,
  { frames, totals }: { readonly frames: readonly FrameRecord[]; readonly totals: readonly ToolTotals[] },
): Promise<StepJson[]> {
  const steps: StepJson[] = [];
  for (const boundary of await source.report.boundariesOfRun(run.no, SHOWN_BOUNDARIES)) {
    if (boundary.place.datasetNo !== 0) continue;
    if (boundary.kind === 'csv')
      steps.push({ kind: 'csv', label: boundary.label, rows: (JSON.parse(boundary.value) as { rows: number }).rows });
    else if (boundary.kind === 'step' || boundary.kind === 'fetch' || boundary.kind === 'now')
      steps.push({ kind: boundary.kind, label: boundary.label });
  }
  steps.push(...toolSteps(totals.filter((one) => one.datasetNo === 0)));
  for (const frame of frames)
    steps.push({
      kind: 'dataset',
      label: frameName(frame),
      steps: toolSteps(totals.filter((one) => one.datasetNo === frame.datasetNo)),
    });
  return steps;
}

function toolSteps(totals: readonly ToolTotals[]): StepJson[] {
  const calls = new Map<string, { label: string; tool: string; calls: number }>();
  for (const one of totals) {
    const id = `${one.path}|${one.tool}`;
    const before = calls.get(id) ?? { label: one.path === '' ? one.tool : one.path, tool: one.tool, calls: 0 };
    calls.set(id, { ...before, calls: before.calls + one.calls });
  }
  return [...calls.values()].map((step) => ({ kind: 'tool', ...step }));
}

/** `runs list --json`. */
export async function runsList(
  source: ReportSource,
  page: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<{ readonly runs: readonly RunJson[]; readonly nextCursor: string | null }> {
  const beforeNo = page.cursor === undefined ? undefined : Number(page.cursor);
  const found = await source.report.listRuns({ limit: page.limit + 1, beforeNo });
  const shown = found.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    runs: shown.map((run) => runJson(run, statusIn(source, run))),
    nextCursor: found.length > page.limit && last !== undefined ? String(last.no) : null,
  };
}
