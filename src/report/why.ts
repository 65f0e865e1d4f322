import type { DatasetRow, DatasetShape } from '../dataset/index.ts';
import { roundedCredits } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import { type AttemptJson, attemptJson } from './attempt-json.ts';
import { callsOfRows } from './calls-of-rows.ts';
import { chosenFrame, readerOf } from './frames.ts';
import { attemptsAt, callsOfColumn } from './provenance.ts';
import type { ReportSource } from './reads.ts';
import { ofRun } from './run-json.ts';
import { unfinishedJson } from './unfinished.ts';

export interface WhyJson {
  readonly row: string;
  readonly state: DatasetRow['state'];
  readonly error: DatasetRow['error'];
  /** Why the row has no end yet; null where it has one. */
  readonly reason: string | null;
  /** What goes on with it. */
  readonly next: readonly string[];
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
    ...(await unfinishedJson(source, run, { row, datasetNo: frame.datasetNo })),
    columns: columns.map((column) => {
      const { name } = column;
      const own = callsOfColumn(column, calls, shape);
      return {
        name,
        value: row.cells[name] ?? null,
        credits: row.repeats === null ? roundedCredits(own.reduce((sum, call) => sum + call.credits, 0)) : 0,
        attempts: attemptsAt(column, own, traced.trace).map(attemptJson),
        codeVersion: artifact,
      };
    }),
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
