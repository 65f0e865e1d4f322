import { dirname, resolve } from 'node:path';
import { checkPlay, type LoadedPlay, loadPlay, type ShownCalls, validatePlayInput } from '../play/index.ts';
import { type Experience, type PlanJson, pilotOf, planJson } from '../report/index.ts';
import { planAttempt, type RunOptions } from '../run/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { Workspace } from './open.ts';
import { reportSource } from './report-source.ts';
import type { RunOrder } from './runs.ts';

/** How many rows of each file are planned; larger files are scaled up from these. */
const SAMPLE_ROWS = 20_000;

/** What a run would do and cost. Buys nothing, and leaves nothing but staged files. */
export async function planRun(workspace: Workspace, order: RunOrder): Promise<PlanJson> {
  const loaded = await loadPlay(resolve(order.cwd, order.play), { cacheDir: workspace.paths.modules });
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
  return planJson({
    play: loaded.play.name,
    counts,
    experience: await experienceOf(workspace, { loaded, order, counts }),
    sample: whole > limit ? { rows: limit, of: whole } : { rows: 1, of: 1 },
    maxCredits: options.maxCredits,
  });
}

interface Planned {
  readonly loaded: LoadedPlay;
  readonly order: RunOrder;
  readonly counts: Awaited<ReturnType<typeof planAttempt>>;
}

const RUNS_LOOKED_AT = 500;

async function experienceOf(workspace: Workspace, { loaded, order, counts }: Planned): Promise<Experience> {
  const { catalogue, store } = workspace;
  const recent = await store.report.listRuns({ limit: RUNS_LOOKED_AT });
  const runs = recent.filter((run) => run.play === loaded.play.name);
  const spec = resolve(order.cwd, order.play);
  const calls = (await checkPlay(spec, { types: false, cacheDir: workspace.paths.modules })).calls();
  const shownAt = (dataset: string, leg: string) => calls.get(`${dataset}|${leg}`) ?? calls.get(`*|${leg}`);
  const bought = await boughtBy(workspace, runs);
  const rates = new Map<string, number>();
  const tools = [...counts.fresh, ...counts.answered].map(({ tool }) => tool);
  for (const tool of new Set([...tools, ...[...calls.values()].flatMap((shown) => [...shown.tools.keys()])])) {
    const { completed, noResult } = await store.report.hitRate(tool);
    if (completed + noResult > 0) rates.set(tool, completed / (completed + noResult));
  }
  const { refresh = [] } = order;
  return {
    pilot: await pilotOf(reportSource(workspace), { runs, artifact: loaded.artifact.hash }),
    tool: (id) => (catalogue.has(id) ? catalogue.get(id) : undefined),
    hitRate: (tool) => rates.get(tool),
    meanCredits: (tool) => bought.get(tool)?.mean,
    hasFailed: (tool) => bought.get(tool)?.hasFailed === true,
    shownAt,
    datasets: datasetsShown(workspace, calls),
    mayCost: catalogue.list().some(({ maxCredits }) => maxCredits > 0),
    isRefreshed: (tool) => refresh === 'all' || refresh.includes(tool),
  };
}

/** Datasets of the play's text with the legs that it shows. */
function datasetsShown({ catalogue }: Workspace, calls: ReadonlyMap<string, ShownCalls>): Experience['datasets'] {
  const costs = (tool: string): boolean => catalogue.has(tool) && catalogue.get(tool).maxCredits > 0;
  const shown = new Map<string, boolean>();
  for (const [place, { tools, computed, hidden }] of calls) {
    const key = place.slice(0, place.lastIndexOf('|'));
    const mayCost = computed > 0 || hidden.length > 0 || [...tools.keys()].some(costs);
    shown.set(key, mayCost || shown.get(key) === true);
  }
  return [...shown].map(([key, mayCost]) => ({ key: key === '*' ? null : key, mayCost }));
}

interface Bought {
  /** Credits of a call that went out; undefined where none was answered. */
  readonly mean: number | undefined;
  readonly hasFailed: boolean;
}

const RUNS_ADDED_UP = 50;

/** What calls of each tool cost in the newest runs. */
async function boughtBy({ store }: Workspace, runs: readonly RunRecord[]): Promise<ReadonlyMap<string, Bought>> {
  const sums = new Map<string, { calls: number; credits: number; failed: number }>();
  for (const run of runs.slice(0, RUNS_ADDED_UP))
    for (const { tool, source, outcome, calls, credits } of await store.report.toolTotals(run.no)) {
      if (source !== 'live') continue;
      const sum = sums.get(tool) ?? { calls: 0, credits: 0, failed: 0 };
      sum.calls += calls;
      sum.credits += credits;
      if (outcome === 'failed') sum.failed += calls;
      sums.set(tool, sum);
    }
  return new Map(
    [...sums].map(([tool, { calls, credits, failed }]) => [
      tool,
      { mean: failed === calls ? undefined : credits / calls, hasFailed: failed > 0 },
    ]),
  );
}
