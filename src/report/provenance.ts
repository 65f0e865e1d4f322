import type { DatasetRow, DatasetShape } from '../dataset/index.ts';
import { type CallEntry, type RunRecord, receiptName } from '../store/index.ts';
import { callsOfRows } from './calls-of-rows.ts';
import type { ReportSource } from './reads.ts';
import { iso } from './run-json.ts';
import { rounded } from './show.ts';

/** Where one cell's value came from. `credits` is what all its calls cost this run. */
export interface CellProvenance {
  readonly column: string;
  /** The leg that answered: the last one that completed, else null. */
  readonly leg: string | null;
  readonly source: string | null;
  readonly credits: number;
  readonly receiptId: string | null;
  readonly at: string | null;
}

/** Provenance of each column of each row, in their order. A skipped row shows that of the row it repeats, at no cost. */
export async function provenanceOf(
  source: ReportSource,
  run: RunRecord,
  { shape, rows }: { readonly shape: DatasetShape; readonly rows: readonly DatasetRow[] },
): Promise<readonly (readonly CellProvenance[])[]> {
  const found = await callsOfRows(source, run, { shape, rows });
  return rows.map((row) => {
    const { calls = [] } = found.get(row.repeats ?? row.ordinal) ?? {};
    const repeated = row.repeats !== null;
    return shape.columns.map(({ name }) => cellProvenance(name, calls, repeated));
  });
}

function cellProvenance(column: string, calls: readonly CallEntry[], repeated: boolean): CellProvenance {
  const own = callsOfColumn(column, calls);
  const answered = own.findLast((call) => call.outcome === 'completed') ?? own.at(-1);
  return {
    column,
    leg: answered === undefined || answered.path === column ? null : answered.path,
    source: answered?.source ?? null,
    credits: repeated ? 0 : rounded(own.reduce((sum, call) => sum + call.credits, 0)),
    receiptId: answered?.receiptId == null ? null : receiptName(answered.receiptId),
    at: answered === undefined ? null : iso(answered.at),
  };
}

/** The calls made from a column or a step below it, in the order in which they ended. */
export function callsOfColumn(column: string, calls: readonly CallEntry[]): readonly CallEntry[] {
  return calls.filter((call) => call.path === column || call.path.startsWith(`${column}.`)).sort((a, b) => a.at - b.at);
}
