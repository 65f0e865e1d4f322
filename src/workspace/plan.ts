import { dirname, resolve } from 'node:path';
import { checkPlay, loadPlay, validatePlayInput } from '../play/index.ts';
import { type Experience, type PlanJson, planJson } from '../report/index.ts';
import { planAttempt, type RunOptions } from '../run/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { Workspace } from './open.ts';
import type { RunOrder } from './runs.ts';

/** How many rows of each file are planned; larger files are scaled up from these. */
const SAMPLE_ROWS = 2000;

/** What a run would do and cost. Buys nothing, and leaves nothing but staged files. */
export async function planRun(workspace: Workspace, order: RunOrder): Promise<PlanJson> {
  const spec = resolve(order.cwd, order.play);
  const loaded = await loadPlay(spec, { cacheDir: workspace.paths.modules });
  const input = (await validatePlayInput(loaded.play, order.input)) as JsonValue;
  const limit = Math.min(order.limit ?? Number.POSITIVE_INFINITY, SAMPLE_ROWS);
  const options: RunOptions = {
    cwd: order.cwd,
    playDir: dirname(loaded.file),
    exportName: loaded.exportName,
    maxCredits: order.maxCredits ?? loaded.play.options.billing?.maxCreditsPerRun ?? null,
    concurrency: order.concurrency ?? null,
    limit,
    encoding: order.encoding ?? null,
    refresh: order.refresh ?? [],
    mode: workspace.mode,
  };
  const counts = await planAttempt(workspace.deps, { play: loaded.play, plays: loaded.all, input, options });
  const whole = Math.min(counts.largestFile, order.limit ?? counts.largestFile);
  const experience = await experienceOf(workspace, { play: loaded.play.name, spec, tools: toolsIn(counts) });
  return planJson({
    play: loaded.play.name,
    counts,
    experience,
    sample: whole > limit ? { rows: limit, of: whole } : { rows: 1, of: 1 },
    maxCredits: options.maxCredits,
  });
}

function toolsIn(counts: Awaited<ReturnType<typeof planAttempt>>): string[] {
  return [...counts.fresh, ...counts.answered].map((call) => call.tool);
}

async function experienceOf(
  workspace: Workspace,
  asked: { readonly play: string; readonly spec: string; readonly tools: readonly string[] },
): Promise<Experience> {
  const { catalogue, store } = workspace;
  const text = await checkPlay(asked.spec, { types: false, cacheDir: workspace.paths.modules });
  const pilot = await pilotOf(workspace, asked.play);
  const toolsByLeg = new Map<string, Set<string>>(pilot?.toolsByLeg);
  for (const dataset of text.plan?.datasets ?? [])
    for (const column of dataset.columns)
      for (const leg of column.legs) {
        const path = leg.name === column.name ? column.name : `${column.name}.${leg.name}`;
        const known = toolsByLeg.get(`${dataset.key}|${path}`) ?? new Set<string>();
        if (known.size === 0) toolsByLeg.set(`${dataset.key}|${path}`, new Set(leg.tools));
      }
  const tools = new Set([...asked.tools, ...[...toolsByLeg.values()].flatMap((set) => [...set])]);
  const rates = new Map<string, number>();
  for (const tool of tools) {
    const { completed, noResult } = await store.report.hitRate(tool);
    if (completed + noResult > 0) rates.set(tool, completed / (completed + noResult));
  }
  return {
    tool: (id) => (catalogue.has(id) ? catalogue.get(id) : undefined),
    hitRate: (tool) => rates.get(tool),
    meanCredits: (tool) => pilot?.meanCredits.get(tool),
    callsPerRow: (dataset, leg) => pilot?.callsPerRow.get(`${dataset}|${leg}`),
    toolsOf: (dataset, leg) => [...(toolsByLeg.get(`${dataset}|${leg}`) ?? [])],
  };
}

interface Pilot {
  readonly meanCredits: ReadonlyMap<string, number>;
  readonly callsPerRow: ReadonlyMap<string, number>;
  readonly toolsByLeg: ReadonlyMap<string, Set<string>>;
}

const PILOTS_LOOKED_AT = 50;

/** The latest completed run of the play: how often each leg was called a row, and what its answers cost. */
async function pilotOf(workspace: Workspace, play: string): Promise<Pilot | undefined> {
  const { report } = workspace.store;
  const recent = await report.listRuns({ limit: PILOTS_LOOKED_AT, status: 'completed' });
  const ofPlay = recent.filter((run) => run.play === play);
  const meanCredits = await meanCreditsOf(workspace, ofPlay);
  for (const run of ofPlay) {
    const frames = await workspace.store.datasets.frames(run.no);
    const totals = await report.toolTotals(run.no);
    if (frames.every((frame) => frame.admitted === 0) || totals.length === 0) continue;
    const callsPerRow = new Map<string, number>();
    const toolsByLeg = new Map<string, Set<string>>();
    for (const total of totals) {
      const frame = frames.find((one) => one.datasetNo === total.datasetNo);
      if (frame === undefined || frame.admitted === 0) continue;
      const id = `${frame.key}|${total.path}`;
      callsPerRow.set(id, (callsPerRow.get(id) ?? 0) + total.calls / frame.admitted);
      toolsByLeg.set(id, (toolsByLeg.get(id) ?? new Set()).add(total.tool));
    }
    return { meanCredits, callsPerRow, toolsByLeg };
  }
  return undefined;
}

async function meanCreditsOf(workspace: Workspace, runs: readonly RunRecord[]): Promise<Map<string, number>> {
  const sums = new Map<string, { calls: number; credits: number }>();
  for (const run of runs)
    for (const total of await workspace.store.report.toolTotals(run.no)) {
      if (total.source !== 'live' || total.outcome === 'failed') continue;
      const before = sums.get(total.tool) ?? { calls: 0, credits: 0 };
      sums.set(total.tool, { calls: before.calls + total.calls, credits: before.credits + total.credits });
    }
  return new Map([...sums].map(([tool, { calls, credits }]) => [tool, credits / calls]));
}
