import { roundedCredits } from '../scope/index.ts';
import type { RunRecord } from '../store/index.ts';
import { highestCost, type Workspace } from './open.ts';
import type { ChosenRows } from './rerun-rows.ts';

interface Calls {
  readonly datasetNo: number;
  readonly tool: string;
  /** Of one row, or of the run itself. */
  readonly calls: number;
}

/**
 * About the most credits that a rerun may cost: every call that its source, or a run which that was made from, made for a
 * row is made again at its highest price, unless the source run answers it.
 */
export async function mostCredits(
  workspace: Workspace,
  source: RunRecord,
  rerun: {
    readonly chosen: readonly ChosenRows[];
    readonly refresh: 'all' | readonly string[];
    readonly codeChanged: boolean;
  },
): Promise<number> {
  const { chosen, refresh, codeChanged } = rerun;
  const { catalogue } = workspace;
  const priceOf = highestCost(catalogue);
  const isAnew = (tool: string): boolean => codeChanged || refresh === 'all' || refresh.includes(tool);
  const known = await callsOf(workspace, source);
  let most = 0;
  for (const { datasetNo, tool, calls } of known) {
    const rows = chosen.find(({ frame }) => frame.datasetNo === datasetNo);
    const isUnfinished = datasetNo === 0 && source.status !== 'completed';
    const times =
      rows === undefined ? Number(isUnfinished || isAnew(tool)) : rows.others + (isAnew(tool) ? rows.completed : 0);
    most += times * calls * priceOf(tool);
  }
  const dearest = Math.max(0, ...catalogue.list().map(({ maxCredits }) => maxCredits));
  for (const { frame, others } of chosen)
    if (!known.some(({ datasetNo }) => datasetNo === frame.datasetNo)) most += others * dearest;
  return roundedCredits(most);
}

/** The calls of each place in the code, by what the run and its sources made. */
async function callsOf({ store }: Workspace, source: RunRecord): Promise<readonly Calls[]> {
  const most = new Map<string, Calls>();
  for (let run: RunRecord | undefined = source; run !== undefined; ) {
    const frames = await store.datasets.frames(run.no);
    for (const { datasetNo, path, tool, calls } of await store.report.toolTotals(run.no)) {
      const rows = datasetNo === 0 ? 1 : (frames.find((frame) => frame.datasetNo === datasetNo)?.admitted ?? 1);
      const id = JSON.stringify([datasetNo, path, tool]);
      const each = Math.max(1, Math.ceil(calls / Math.max(1, rows)), most.get(id)?.calls ?? 0);
      most.set(id, { datasetNo, tool, calls: each });
    }
    run = run.replayedFrom === null ? undefined : await store.runs.run(run.replayedFrom);
  }
  return [...most.values()];
}
