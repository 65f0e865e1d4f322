import type { DatasetRow, DatasetShape, LegTrace } from '../dataset/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import { type CallEntry, type RunRecord, receiptName } from '../store/index.ts';
import { callsOfRows } from './calls-of-rows.ts';
import { chosenFrame, readerOf } from './frames.ts';
import { callsOfColumn } from './provenance.ts';
import type { ReportSource } from './reads.ts';
import { iso, ofRun } from './run-json.ts';
import { rounded } from './show.ts';

export interface AttemptJson {
  readonly leg: string;
  readonly tool: string | null;
  readonly outcome: string;
  readonly source: string | null;
  readonly receiptId: string | null;
  readonly credits: number;
  readonly at: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface WhyJson {
  readonly row: string;
  readonly state: DatasetRow['state'];
  readonly error: DatasetRow['error'];
  readonly columns: readonly {
    readonly name: string;
    readonly value: unknown;
    readonly credits: number;
    readonly attempts: readonly AttemptJson[];
    /** Hash of the code that made the cell. */
    readonly codeVersion: string;
  }[];
}

/** Where the cells of one row came from, or why there are none. */
export async function whyRow(
  source: ReportSource,
  run: RunRecord,
  asked: { readonly row: string; readonly column?: string | undefined; readonly dataset?: string | undefined },
): Promise<WhyJson> {
  const frame = await chosenFrame(source, run, asked.dataset);
  const reader = readerOf(source, run, frame);
  const [shape, ordinal] = [await reader.shape(), await reader.findRow(asked.row)];
  const row = ordinal === undefined ? undefined : await reader.row(ordinal);
  if (row === undefined) throw rowNotFound(run, shape, asked.row);
  const columns = chosenColumns(shape, asked.column);
  const at = row.repeats ?? row.ordinal;
  const found = (await callsOfRows(source, run, { shape, rows: [row] })).get(at);
  const { calls = [], artifact = run.artifact } = found ?? {};
  const traced = row.repeats === null ? row : ((await reader.row(row.repeats)) ?? row);
  return {
    row: row.key,
    state: row.state,
    error: row.error?.next === undefined ? row.error : { ...row.error, next: ofRun(row.error.next, run.id) },
    columns: columns.map(({ name, legs }) => {
      const own = callsOfColumn(name, calls);
      return {
        name,
        value: row.cells[name] ?? null,
        credits: row.repeats === null ? rounded(own.reduce((sum, call) => sum + call.credits, 0)) : 0,
        attempts: attemptsOf(legs, own, traced.trace),
        codeVersion: artifact,
      };
    }),
  };
}

function attemptsOf(legs: readonly string[], calls: readonly CallEntry[], trace: readonly LegTrace[]): AttemptJson[] {
  const attempts: AttemptJson[] = [];
  for (const leg of legs) {
    const ofLeg = calls.filter((call) => call.path === leg || call.path.startsWith(`${leg}.`));
    const traced = trace.find((one) => one.path === leg);
    for (const call of ofLeg) attempts.push(attemptOf(leg, call, traced));
    if (ofLeg.length === 0 && traced !== undefined)
      attempts.push({
        leg,
        tool: null,
        outcome: traced.outcome,
        source: null,
        receiptId: null,
        credits: 0,
        at: null,
        error: traced.error ?? null,
      });
  }
  return attempts;
}

function attemptOf(leg: string, call: CallEntry, traced: LegTrace | undefined): AttemptJson {
  const error = call.error === null ? null : (JSON.parse(call.error) as { code: string; message: string });
  const outcome =
    call.outcome !== 'failed' ? call.outcome : traced?.outcome === 'unavailable' ? 'unavailable' : 'rejected';
  return {
    leg,
    tool: call.tool,
    outcome,
    source: call.source,
    receiptId: call.receiptId === null ? null : receiptName(call.receiptId),
    credits: call.credits,
    at: iso(call.at),
    error: error === null ? null : { code: error.code, message: error.message },
  };
}

function chosenColumns(shape: DatasetShape, column: string | undefined): DatasetShape['columns'] {
  if (column === undefined) return shape.columns;
  const chosen = shape.columns.filter(({ name }) => name === column);
  if (chosen.length > 0) return chosen;
  const names = shape.columns.map(({ name }) => name);
  throw new CallsheetError(
    'COLUMN_MISSING',
    `Dataset '${shape.key}' has no derived column '${column}' (there is: ${names.join(', ')}).`,
    {
      details: { dataset: shape.key, column, columns: names },
      next: names.slice(0, 3).map((name) => `… --column ${name}`),
    },
  );
}

function rowNotFound(run: RunRecord, shape: DatasetShape, row: string): CallsheetError {
  const form = shape.keyFields.length > 0 ? `its ${shape.keyFields.join(',')}` : 'its number, such as #1';
  return new CallsheetError(
    'ROW_NOT_FOUND',
    `Dataset '${shape.key}' of ${run.id} has no row '${row}'. A row is named by ${form}.`,
    {
      details: { runId: run.id, dataset: shape.key, row },
      next: [`callsheet why ${run.id} --row '#1'`],
    },
  );
}
