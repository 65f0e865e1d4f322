import type { DatasetRow, DatasetShape } from '../dataset/index.ts';
import type { CallEntry, RunRecord } from '../store/index.ts';
import { columnAt } from './credit-places.ts';
import type { ReportSource } from './reads.ts';

/** The calls behind the cells of one row. */
export interface RowCalls {
  readonly calls: readonly CallEntry[];
  /** Hash of the code that recorded the row. */
  readonly artifact: string;
}

type Asked = Pick<DatasetRow, 'ordinal' | 'at' | 'repeats'>;

/**
 * The calls behind the cells of these rows, by ordinal; of a row that repeats another, under that one's. Where a rerun keeps
 * a row, or the cells before its `--column`, they are those of the run that made them, and cost this run nothing.
 */
export async function callsOfRows(
  source: Pick<ReportSource, 'calls' | 'runs'>,
  run: RunRecord,
  { shape, rows }: { readonly shape: Pick<DatasetShape, 'datasetNo' | 'columns'>; readonly rows: readonly Asked[] },
): Promise<ReadonlyMap<number, RowCalls>> {
  const ordinals = [...new Set(rows.map(ordinalOf))];
  const journal = await source.calls.journal(run.no, shape.datasetNo, ordinals);
  const found = new Map<number, RowCalls>(
    ordinals.map((ordinal) => [ordinal, { calls: journal.get(ordinal) ?? [], artifact: run.artifact }]),
  );
  if (run.replayedFrom === null) return found;
  const first = (JSON.parse(run.options) as { readonly column?: string | null }).column;
  const names = shape.columns.map(({ name }) => name);
  const before = names.slice(0, Math.max(0, names.indexOf(first ?? '')));
  const kept = new Set(rows.filter(({ at }) => at !== null && at < run.createdAt).map(ordinalOf));
  const wanting = new Set(before.length === 0 ? kept : ordinals);
  for (let at = run; at.replayedFrom !== null && wanting.size > 0; ) {
    const earlier = await source.runs.run(at.replayedFrom);
    if (earlier === undefined) break;
    for (const [ordinal, calls] of await source.calls.journal(earlier.no, shape.datasetNo, [...wanting])) {
      const isKept = kept.has(ordinal);
      const theirs = isKept ? calls : calls.filter(({ path }) => before.includes(columnAt(path, names) ?? ''));
      if (theirs.length === 0) continue;
      wanting.delete(ordinal);
      const own = found.get(ordinal)?.calls ?? [];
      const free = theirs.map((call) => ({ ...call, source: 'source_run' as const, credits: 0 }));
      found.set(ordinal, { calls: [...own, ...free], artifact: isKept ? earlier.artifact : run.artifact });
    }
    at = earlier;
  }
  return found;
}

function ordinalOf({ ordinal, repeats }: Asked): number {
  return repeats ?? ordinal;
}
