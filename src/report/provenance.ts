import type { DatasetRow, DatasetShape, LegTrace } from '../dataset/index.ts';
import { roundedCredits } from '../scope/index.ts';
import { type CallEntry, type RunRecord, receiptName } from '../store/index.ts';
import { callsOfRows } from './calls-of-rows.ts';
import { columnAt } from './credit-places.ts';
import type { ReportSource } from './reads.ts';
import { iso } from './run-json.ts';

/** Where one cell's value came from. `credits` is what all its calls cost this run. */
export interface CellProvenance {
  readonly column: string;
  /** The leg that answered: the last one whose answer the cell may be made of, else null. */
  readonly leg: string | null;
  readonly source: string | null;
  readonly credits: number;
  readonly receiptId: string | null;
  readonly at: string | null;
  /** Every leg that was tried or left out, in order, and how that ended: `email.hunter no_result; email.prospeo completed`. */
  readonly tried: string | null;
  /** Hash of the code that made the cell. */
  readonly codeVersion: string;
}

/** One attempt at a cell. */
export interface Attempt {
  readonly leg: string;
  readonly call: CallEntry | undefined;
  readonly traced: LegTrace | undefined;
  readonly outcome: string;
}

type ShapeColumn = DatasetShape['columns'][number];

/** Provenance of each column of each row, in their order. A skipped row shows that of the row it repeats, at no cost. */
export async function provenanceOf(
  source: ReportSource,
  run: RunRecord,
  { shape, rows }: { readonly shape: DatasetShape; readonly rows: readonly DatasetRow[] },
): Promise<readonly (readonly CellProvenance[])[]> {
  const found = await callsOfRows(source, run, { shape, rows });
  return rows.map((row) => {
    const { calls = [], artifact = run.artifact } = found.get(row.repeats ?? row.ordinal) ?? {};
    const of = { calls, trace: row.trace, artifact, isRepeated: row.repeats !== null };
    return shape.columns.map((column) => cellProvenance(column, of, shape));
  });
}

function cellProvenance(
  column: ShapeColumn,
  of: {
    readonly calls: readonly CallEntry[];
    readonly trace: readonly LegTrace[];
    readonly artifact: string;
    readonly isRepeated: boolean;
  },
  shape: Pick<DatasetShape, 'columns'>,
): CellProvenance {
  const { calls, trace, artifact, isRepeated } = of;
  const own = callsOfColumn(column, calls, shape);
  const attempts = attemptsAt(column, own, trace);
  const made = attempts.filter(({ call }) => call !== undefined);
  const answered = made.findLast(({ outcome }) => outcome === 'completed');
  const { call, leg } = answered ?? made.at(-1) ?? {};
  return {
    column: column.name,
    leg: answered === undefined || leg === undefined || leg === column.name ? null : leg,
    source: call?.source ?? null,
    credits: isRepeated ? 0 : roundedCredits(own.reduce((sum, { credits }) => sum + credits, 0)),
    receiptId: call?.receiptId == null ? null : receiptName(call.receiptId),
    at: call === undefined ? null : iso(call.at),
    tried: attempts.length === 0 ? null : attempts.map((one) => `${one.leg} ${one.outcome}`).join('; '),
    codeVersion: artifact,
  };
}

/**
 * The attempts at one cell, in the order of its legs: each call, and each leg without one that a trace tells of. Whatever a
 * program's own `return` calls comes last, under the column's name.
 */
export function attemptsAt(
  { name, legs }: ShapeColumn,
  own: readonly CallEntry[],
  trace: readonly LegTrace[],
): readonly Attempt[] {
  const places = legs.includes(name) ? legs : [...legs, name];
  return places.flatMap((leg): Attempt[] => {
    const ofLeg = own.filter(({ path }) => placeOf(path, places) === leg);
    const traced = trace.find(({ path }) => path === leg);
    if (ofLeg.length > 0) return ofLeg.map((call) => ({ leg, call, traced, outcome: outcomeOf(call, traced) }));
    return traced === undefined ? [] : [{ leg, call: undefined, traced, outcome: traced.outcome }];
  });
}

function placeOf(path: string, places: readonly string[]): string | undefined {
  return places.find((leg) => path === leg || path.startsWith(`${leg}.`));
}

/** Of what the provider answered, the play may have thrown away what it said. */
function outcomeOf({ outcome }: CallEntry, traced: LegTrace | undefined): string {
  if (outcome === 'completed') return traced?.outcome === 'rejected' ? 'rejected' : outcome;
  if (outcome === 'failed') return traced?.outcome === 'unavailable' ? 'unavailable' : 'rejected';
  return outcome;
}

/** The calls made from a column or a step below it: by leg, and within one in the order in which they were answered. */
export function callsOfColumn(
  { name, legs }: ShapeColumn,
  calls: readonly CallEntry[],
  { columns }: Pick<DatasetShape, 'columns'>,
): readonly CallEntry[] {
  const names = columns.map((column) => column.name);
  const rankOf = ({ path }: CallEntry): number => {
    const leg = legs.findIndex((one) => path === one || path.startsWith(`${one}.`));
    return leg === -1 ? legs.length : leg;
  };
  return calls
    .filter(({ path }) => columnAt(path, names) === name)
    .sort((a, b) => rankOf(a) - rankOf(b) || a.at - b.at);
}
