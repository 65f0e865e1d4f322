import { readPlan } from '../dataset/index.ts';
import { columnAt } from '../report/index.ts';
import type { BoundaryEntry, FrameRecord, RunRecord } from '../store/index.ts';
import type { Workspace } from './open.ts';
import { mostCredits } from './rerun-cost.ts';
import { type ChosenRows, chooseRows } from './rerun-rows.ts';

/** Runs that a rerun starts again, as reruns of those that its source has started. */
export interface StartedAgain {
  /** All of them, also those that they start themselves. */
  readonly runs: readonly RunRecord[];
  /** Of those: which ask anew something that they have an answer to. */
  readonly anew: readonly RunRecord[];
  /** About the most that they may cost, by what they called. */
  readonly mostCredits: number;
}

interface Rerun {
  readonly chosen: readonly ChosenRows[];
  /** The column that the rerun begins at. */
  readonly column: string | undefined;
  readonly refresh: 'all' | readonly string[];
  readonly codeChanged: boolean;
}

/**
 * What becomes of the runs that a rerun's source has started: the play's body is run again whatever rows are chosen, and a run
 * that is started again does all its rows, with the same `--refresh`.
 */
export async function startedAgain(workspace: Workspace, source: RunRecord, rerun: Rerun): Promise<StartedAgain> {
  const { runs: reads } = workspace.store;
  const runs = new Map<string, RunRecord>();
  for (const id of await startedBy(workspace, source, rerun)) {
    const child = await reads.run(id);
    if (child === undefined) continue;
    for (const run of [child, ...(await reads.childrenOf(id))]) runs.set(run.id, run);
  }
  const { refresh, codeChanged } = rerun;
  const anew: RunRecord[] = [];
  let most = 0;
  for (const run of runs.values()) {
    const chosen = await chooseRows(workspace, run, {});
    most += await mostCredits(workspace, run, { chosen, refresh, codeChanged });
    if (await asksAnew(workspace, run, refresh)) anew.push(run);
  }
  return { runs: [...runs.values()], anew, mostCredits: most };
}

async function asksAnew({ store, catalogue }: Workspace, run: RunRecord, refresh: Rerun['refresh']): Promise<boolean> {
  const isWrite = (tool: string): boolean => catalogue.has(tool) && catalogue.get(tool).definition.effect === 'write';
  const totals = await store.report.toolTotals(run.no);
  return totals.some(({ tool }) => (refresh === 'all' ? !isWrite(tool) : refresh.includes(tool)));
}

/** The runs that the body and the chosen rows have started, in the source or in a run that it comes from: the nearest of each. */
async function startedBy({ store }: Workspace, source: RunRecord, rerun: Rerun): Promise<readonly string[]> {
  const nearest = new Map<string, string>();
  for (let run: RunRecord | undefined = source; run !== undefined; ) {
    // Most runs have started none, and then their boundaries need no look.
    if ((await store.runs.childrenOf(run.id)).length > 0) {
      addStarted(nearest, 'body', await store.runs.boundaries(run.no, 0, [0]));
      for (const { frame, ordinals } of rerun.chosen)
        for (const piece of pieces(ordinals, frame.total))
          addStarted(
            nearest,
            String(frame.datasetNo),
            onlyFrom(rerun.column, frame, await store.runs.boundaries(run.no, frame.datasetNo, piece)),
          );
    }
    run = run.replayedFrom === null ? undefined : await store.runs.run(run.replayedFrom);
  }
  return [...new Set(nearest.values())];
}

type Boundaries = ReadonlyMap<number, readonly BoundaryEntry[]>;

function addStarted(nearest: Map<string, string>, where: string, boundaries: Boundaries): void {
  for (const [ordinal, entries] of boundaries)
    for (const { kind, key, value } of entries) {
      if (kind !== 'child') continue;
      const place = `${where} ${ordinal} ${key}`;
      if (!nearest.has(place)) nearest.set(place, (JSON.parse(value) as { readonly runId: string }).runId);
    }
}

/** Without what columns before the one that the rerun begins at have started. */
function onlyFrom(column: string | undefined, frame: FrameRecord, boundaries: Boundaries): Boundaries {
  const names = readPlan(frame).columns.map(({ name }) => name);
  const before = names.slice(0, column === undefined ? 0 : Math.max(0, names.indexOf(column)));
  if (before.length === 0) return boundaries;
  const isAgain = ({ path }: BoundaryEntry): boolean => !before.includes(columnAt(path, names) ?? '');
  return new Map([...boundaries].map(([ordinal, entries]) => [ordinal, entries.filter(isAgain)]));
}

const PIECE = 1_000;

function* pieces(ordinals: ChosenRows['ordinals'], total: number): Generator<readonly number[]> {
  const count = ordinals === 'all' ? total : ordinals.length;
  for (let from = 0; from < count; from += PIECE) {
    const to = Math.min(count, from + PIECE);
    yield ordinals === 'all' ? Array.from({ length: to - from }, (_, index) => from + index) : ordinals.slice(from, to);
  }
}
