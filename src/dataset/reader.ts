import { exportHeader, openStaged } from '../files/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { DatasetReads, FrameRecord, RowRecord } from '../store/index.ts';
import { type Frame, NOT_ADMITTED, type Range, RUNS } from './frame-rows.ts';
import { type JoinedPiece, joinedPieces } from './joined.ts';
import { findKeys } from './key-index.ts';
import { keyCandidates, rowName } from './keys.ts';
import { type FramePlan, readPlan } from './plan.ts';
import { type LegTrace, readCells, readTrace } from './record.ts';
import type { RowError } from './row-error.ts';

export interface DatasetReaderOptions {
  readonly reads: DatasetReads;
  readonly filesDir: string;
  readonly runNo: number;
  readonly frame: FrameRecord;
}

/** A row of a dataset with everything that is recorded of it. */
export interface DatasetRow {
  readonly ordinal: number;
  /** `unfinished`: not begun, or cut short. `skipped` rows show the cells of the row whose key they repeat. */
  readonly state: 'completed' | 'failed' | 'skipped' | 'parked' | 'unfinished';
  /** The row's key as people write it, or `#` and its number. */
  readonly key: string;
  /** The source's own columns and values. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Derived cells by column, in the order of the columns; null where there is none. */
  readonly cells: Readonly<Record<string, unknown>>;
  readonly error: RowError | null;
  /** How the legs of its programs ended; empty where nothing is recorded. */
  readonly trace: readonly LegTrace[];
  readonly credits: number;
  /** When it was recorded; null where it is not. */
  readonly at: number | null;
  /** Ordinal of the row whose key it repeats. */
  readonly repeats: number | null;
}

/** How a dataset looks from outside: its columns and how its keys are made. */
export interface DatasetShape {
  readonly key: string;
  readonly datasetNo: number;
  readonly total: number;
  readonly admitted: number;
  readonly sealed: boolean;
  /** The user's own input columns, unique, as `DatasetRow.input` is keyed. */
  readonly header: readonly string[];
  /** The same columns in the file's own spelling, where that differs (duplicate and empty headers). */
  readonly spelling: readonly string[];
  readonly columns: readonly { readonly name: string; readonly legs: readonly string[] }[];
  readonly keyFields: readonly string[];
  /** The staged file that the rows come from. */
  readonly file: { readonly name: string; readonly digest: string } | null;
}

/** What reports read of a dataset. */
export interface DatasetReader {
  shape(): Promise<DatasetShape>;
  /** Rows in input order, in pieces of up to 256. Rows that `net_new` did not admit are left out. */
  rows(range?: Range): AsyncGenerator<readonly DatasetRow[]>;
  /** One row, whatever its state. */
  row(ordinal: number): Promise<DatasetRow | undefined>;
  /**
   * The row that a person means: by the values of its key fields joined with commas, by a JSON list of them, by the value
   * of a key function, or by its number from 1 as `#17`. Undefined where there is none.
   */
  findRow(text: string): Promise<number | undefined>;
}

const SCAN_ROWS = 65_536;

/** Reads a dataset of any run, finished or not. Throws `STAGED_FILE_MISSING` where the rows' file is gone. */
export function datasetReader(options: DatasetReaderOptions): DatasetReader {
  const { frame: record, reads, filesDir, runNo } = options;
  const plan = readPlan(record);
  const frame: Frame = { reads, filesDir, runNo, record, plan };
  return {
    shape: () => shapeOf(frame),
    rows: (range) => datasetRows(frame, range ?? { from: 0, to: record.total }),
    row: (ordinal) => oneRow(frame, ordinal),
    findRow: (text) => findRow(frame, text),
  };
}

async function shapeOf(frame: Frame): Promise<DatasetShape> {
  const { record, plan, filesDir } = frame;
  const { source } = plan;
  const staged = source.kind === 'file' ? await openStaged(filesDir, source.digest) : undefined;
  return {
    key: record.key,
    datasetNo: record.datasetNo,
    total: record.total,
    admitted: record.admitted,
    sealed: record.sealed,
    header: staged?.header ?? plan.header,
    spelling: staged === undefined ? plan.header : exportHeader(staged),
    columns: plan.columns,
    keyFields: plan.key.kind === 'field' ? [plan.key.field] : plan.key.kind === 'fields' ? plan.key.fields : [],
    file: source.kind === 'file' ? { name: source.name, digest: source.digest } : null,
  };
}

async function* datasetRows(frame: Frame, range: Range): AsyncGenerator<readonly DatasetRow[]> {
  if (!frame.record.sealed) return;
  for await (const piece of joinedPieces(frame, range)) {
    const rows: DatasetRow[] = [];
    for (let index = piece.from; index < piece.to; index++)
      if (piece.slice.repeats[index] !== NOT_ADMITTED) rows.push(datasetRow(frame.plan, piece, index));
    if (rows.length > 0) yield rows;
  }
}

async function oneRow(frame: Frame, ordinal: number): Promise<DatasetRow | undefined> {
  if (!frame.record.sealed || !Number.isInteger(ordinal) || ordinal < 0) return undefined;
  for await (const piece of joinedPieces(frame, { from: ordinal, to: ordinal + 1 }))
    return datasetRow(frame.plan, piece, piece.from);
  return undefined;
}

function datasetRow(plan: FramePlan, piece: JoinedPiece, index: number): DatasetRow {
  const { slice } = piece;
  const ordinal = slice.first + index;
  const repeats = slice.repeats[index] ?? RUNS;
  const record = repeats === NOT_ADMITTED ? undefined : piece.record(index);
  const skipped = repeats !== RUNS;
  const error = record?.error == null ? null : (JSON.parse(record.error) as RowError);
  return {
    ordinal,
    state: skipped ? 'skipped' : (record?.state ?? 'unfinished'),
    key: nameOfRow(plan, slice.row(index), { ordinal, error }),
    input: slice.own(index),
    cells: cellsOf(plan, record),
    error: skipped ? null : error,
    trace:
      record?.trace == null
        ? []
        : readTrace(
            record.trace,
            plan.columns.flatMap((column) => column.legs),
          ),
    // A repeated row cost nothing of its own.
    credits: skipped ? 0 : (record?.credits ?? 0),
    at: record?.at ?? null,
    repeats: repeats >= 0 ? repeats : null,
  };
}

/** A key function cannot be asked here; its value is known where the row failed. */
function nameOfRow(
  plan: FramePlan,
  row: Record<string, unknown>,
  { ordinal, error }: { readonly ordinal: number; readonly error: RowError | null },
): string {
  if (plan.key.kind === 'function' && error !== null) return error.row;
  return rowName({ plan: plan.key, fn: undefined }, row, ordinal);
}

function cellsOf(plan: FramePlan, record: RowRecord | undefined): Readonly<Record<string, unknown>> {
  const values = record === undefined ? [] : readCells(record);
  const cells: Record<string, unknown> = {};
  plan.columns.forEach(({ name }, column) => {
    cells[name] = values[column] ?? null;
  });
  return cells;
}

async function findRow(frame: Frame, text: string): Promise<number | undefined> {
  const { record, plan } = frame;
  if (!record.sealed) throw notAdmitted(record);
  const wanted = keyCandidates(plan.key, text);
  for (let from = 0; wanted.size > 0 && from < record.total; from += SCAN_ROWS) {
    const to = Math.min(record.total, from + SCAN_ROWS);
    const { keys } = await frame.reads.frameChunk(frame.runNo, record.datasetNo, from, to);
    for (const [row] of findKeys(keys, wanted)) return from + row;
  }
  const number = /^#(\d+)$/.exec(text.trim())?.[1];
  const ordinal = number === undefined ? -1 : Number(number) - 1;
  return ordinal >= 0 && ordinal < record.total ? ordinal : undefined;
}

function notAdmitted(record: FrameRecord): CallsheetError {
  return new CallsheetError('ROW_NOT_FOUND', `Dataset '${record.key}' was cut short while its rows were read.`, {
    details: { dataset: record.key },
    next: ['callsheet runs resume <run>'],
  });
}
