import type { DatasetRow } from '../dataset/index.ts';
import type { BoundaryEntry, CallEntry, FrameRecord, RunRecord, ToolTotals } from '../store/index.ts';
import { framesOf, readerOf } from './frames.ts';
import type { ReportSource } from './reads.ts';

export interface PilotCall {
  readonly path: string;
  readonly tool: string;
  /** No earlier row of the run had asked the same. */
  readonly isNew: boolean;
  readonly isLive: boolean;
  readonly outcome: CallEntry['outcome'];
  readonly credits: number;
}

/** What one finished row did. */
export interface PilotRow {
  readonly calls: readonly PilotCall[];
  /** Steps, fetches and the like. */
  readonly stops: readonly { readonly path: string; readonly at: string }[];
  /** Legs that a condition left out. */
  readonly skipped: readonly string[];
  readonly isFailed: boolean;
}

export interface PilotDataset {
  readonly key: string;
  /** Rows of the dataset, whether or not they are among `rows`. */
  readonly total: number;
  /** In input order. */
  readonly rows: readonly PilotRow[];
}

/** A run that tells what the next one will do. */
export interface Pilot {
  readonly runId: string;
  /** False where the play has other code now. */
  readonly isSameCode: boolean;
  readonly datasets: readonly PilotDataset[];
  /** Calls outside datasets. */
  readonly outside: readonly ToolTotals[];
  /** Rows of the largest file that it took; null where it read none. */
  readonly fileRows: number | null;
}

const RUNS_LOOKED_AT = 50;
const ROWS_LOOKED_AT = 5_000;
const PAGE = 500;
const BOUNDARIES_LOOKED_AT = 1_000;

/**
 * The run of the play that tells most: of the same code, else of other code, with the most finished rows, else the latest.
 *
 * @param artifact hash of the play's code as it is now
 */
export async function pilotOf(
  source: ReportSource,
  { runs, artifact }: { readonly runs: readonly RunRecord[]; readonly artifact: string },
): Promise<Pilot | undefined> {
  let best: { run: RunRecord; frames: readonly FrameRecord[]; rank: number } | undefined;
  // A rerun has only the calls of the rows that it ran again.
  for (const run of runs.filter(({ replayedFrom }) => replayedFrom === null).slice(0, RUNS_LOOKED_AT)) {
    const frames = (await framesOf(source, run)).filter(({ sealed, playPath }) => sealed && playPath === '[]');
    const counts = await Promise.all(frames.map((frame) => source.datasets.rowCounts(run.no, frame.datasetNo)));
    const finished = counts.reduce((sum, { completed, failed }) => sum + completed + failed, 0);
    if (finished === 0 && run.status !== 'completed') continue;
    const rank = finished + (run.artifact === artifact ? 1e12 : 0);
    if (best === undefined || rank > best.rank) best = { run, frames, rank };
  }
  if (best === undefined) return undefined;
  const { run, frames } = best;
  return {
    runId: run.id,
    isSameCode: run.artifact === artifact,
    datasets: await Promise.all(frames.map((frame) => pilotDataset(source, run, frame))),
    outside: (await source.report.toolTotals(run.no)).filter(({ datasetNo }) => datasetNo === 0),
    fileRows: await fileRowsOf(source, run),
  };
}

async function fileRowsOf(source: ReportSource, run: RunRecord): Promise<number | null> {
  const boundaries = await source.report.boundariesOfRun(run.no, BOUNDARIES_LOOKED_AT);
  const rows = boundaries
    .filter(({ kind }) => kind === 'csv')
    .map(({ value }) => (JSON.parse(value) as { rows: number }).rows);
  return rows.length === 0 ? null : Math.max(...rows);
}

async function pilotDataset(source: ReportSource, run: RunRecord, frame: FrameRecord): Promise<PilotDataset> {
  const { datasetNo, key, total } = frame;
  const to = Math.min(total, ROWS_LOOKED_AT);
  const asked = new Set<string>();
  const rows: PilotRow[] = [];
  for (let from = 0; from < to; from += PAGE) {
    const finished: DatasetRow[] = [];
    for await (const piece of readerOf(source, run, frame).rows({ from, to: Math.min(to, from + PAGE) }))
      finished.push(...piece.filter(({ state }) => state === 'completed' || state === 'failed'));
    const ordinals = finished.map(({ ordinal }) => ordinal);
    const [journal, boundaries] = await Promise.all([
      source.calls.journal(run.no, datasetNo, ordinals),
      source.runs.boundaries(run.no, datasetNo, ordinals),
    ]);
    for (const row of finished)
      rows.push(pilotRow(row, { calls: journal.get(row.ordinal), stops: boundaries.get(row.ordinal), asked }));
  }
  return { key, total, rows };
}

function pilotRow(
  { trace, state }: DatasetRow,
  of: {
    readonly calls: readonly CallEntry[] | undefined;
    readonly stops: readonly BoundaryEntry[] | undefined;
    /** Questions of earlier rows; this row's are added. */
    readonly asked: Set<string>;
  },
): PilotRow {
  const { calls = [], stops = [], asked } = of;
  return {
    calls: calls.map(({ path, tool, effect, inputDigest, outcome, source, credits }) => {
      const question = `${tool}|${inputDigest}`;
      const isNew = effect === 'write' || !asked.has(question);
      if (outcome !== 'failed') asked.add(question);
      return { path, tool, isNew, isLive: source === 'live', outcome, credits };
    }),
    stops: stops.map(({ path, kind }) => ({ path, at: kind })),
    skipped: trace.filter(({ outcome }) => outcome === 'skipped').map(({ path }) => path),
    isFailed: state === 'failed',
  };
}
