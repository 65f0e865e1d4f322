import type { DatasetRow, DatasetShape } from '../dataset/index.ts';
import { openCsvWriter, openJsonlWriter, type Written } from '../files/index.ts';
import { roundedCredits } from '../scope/index.ts';
import type { RunRecord } from '../store/index.ts';
import { columnNamesOf, creditPlaces } from './credit-places.ts';
import { chosenFrame, framesOf, readerOf } from './frames.ts';
import { inputPathsOf, outputFormat } from './output.ts';
import { type CellProvenance, provenanceOf } from './provenance.ts';
import type { ReportSource } from './reads.ts';

export interface ExportOptions {
  readonly path: string;
  readonly dataset?: string | undefined;
  readonly rows?: 'all' | 'completed' | 'failed' | undefined;
  readonly provenance?: boolean | undefined;
  readonly excel?: boolean | undefined;
  /** Files that must not be overwritten, besides those that the run has read. */
  readonly inputPaths?: readonly string[] | undefined;
}

/** Where the credits of an exported run are told. The three together are what it has settled. */
export interface ExportedCredits {
  /** In the cells of the rows that were written. */
  readonly written: number;
  /** In cells of other rows and datasets. */
  readonly elsewhere: number;
  /** In none: `why <run>` tells of them. */
  readonly inNoCell: number;
}

export interface Exported extends Written {
  readonly dataset: string;
  /** Null without provenance. */
  readonly credits: ExportedCredits | null;
}

/**
 * Writes a dataset of any run, finished or not: the user's own columns in their order and spelling, then the derived ones.
 * A path that ends in `.jsonl` gets JSON lines, one in `.csv` or without an ending CSV. Nothing half is left behind.
 */
export async function exportDataset(source: ReportSource, run: RunRecord, options: ExportOptions): Promise<Exported> {
  const frame = await chosenFrame(source, run, options.dataset);
  const reader = readerOf(source, run, frame);
  const shape = await reader.shape();
  const inputPaths = [...(options.inputPaths ?? []), ...(await inputPathsOf(source, run))];
  const guarded = { ...options, inputPaths };
  const write =
    outputFormat(options.path) === 'jsonl' ? await jsonlSink(guarded, shape) : await csvSink(guarded, shape);
  let credits = 0;
  try {
    for await (const piece of reader.rows()) {
      const rows = piece.filter((row) => isWanted(row, options.rows ?? 'all'));
      const provenance = options.provenance === true ? await provenanceOf(source, run, { shape, rows }) : undefined;
      for (const cell of provenance?.flat() ?? []) credits += cell.credits;
      await write.rows(rows, provenance);
    }
    const written = await write.close();
    const told = options.provenance === true ? await creditsBeside(source, run, roundedCredits(credits)) : null;
    return { ...written, dataset: shape.key, credits: told };
  } catch (error) {
    await write.abort();
    throw error;
  }
}

async function creditsBeside(source: ReportSource, run: RunRecord, written: number): Promise<ExportedCredits> {
  const columns = columnNamesOf(await framesOf(source, run));
  const { cells, outsideRows, outsideColumns } = creditPlaces(await source.report.toolTotals(run.no), columns);
  return {
    written,
    elsewhere: roundedCredits(cells - written),
    inNoCell: roundedCredits(outsideRows + outsideColumns),
  };
}

function isWanted(row: DatasetRow, rows: 'all' | 'completed' | 'failed'): boolean {
  if (rows === 'all') return true;
  if (rows === 'failed') return row.state === 'failed';
  return row.state === 'completed' || row.state === 'skipped';
}

interface Sink {
  rows(rows: readonly DatasetRow[], provenance: readonly (readonly CellProvenance[])[] | undefined): Promise<void>;
  close(): Promise<Written>;
  abort(): Promise<void>;
}

const PROVENANCE_FIELDS = ['leg', 'source', 'credits', 'receiptId', 'at', 'tried', 'codeVersion'] as const;

async function csvSink(options: ExportOptions, shape: DatasetShape): Promise<Sink> {
  const names = shape.columns.map((column) => column.name);
  // A column that replaces an input column stands where that one stood.
  const added = names.filter((name) => !shape.header.includes(name));
  const extra = options.provenance === true ? provenanceHeader(names) : [];
  const writer = await openCsvWriter(options.path, {
    header: [...shape.spelling, ...added, ...extra],
    excel: options.excel === true,
    inputPaths: options.inputPaths ?? [],
  });
  const derived = new Set(names);
  return {
    async rows(rows, provenance) {
      await writer.write(
        rows.map((row, index) => [
          ...shape.header.map((name) => (derived.has(name) ? row.cells[name] : row.input[name])),
          ...added.map((name) => row.cells[name]),
          ...(provenance === undefined ? [] : provenanceCells(row, provenance[index] ?? [])),
        ]),
      );
    },
    close: () => writer.close(),
    abort: () => writer.abort(),
  };
}

function provenanceHeader(names: readonly string[]): string[] {
  return [
    '_row_state',
    '_row_error',
    '_row_credits',
    ...names.flatMap((name) => PROVENANCE_FIELDS.map((field) => `${name}.${field}`)),
  ];
}

function provenanceCells(row: DatasetRow, cells: readonly CellProvenance[]): unknown[] {
  const error = row.error === null ? null : `${row.error.code}: ${row.error.message}`;
  return [row.state, error, row.credits, ...cells.flatMap((cell) => PROVENANCE_FIELDS.map((field) => cell[field]))];
}

async function jsonlSink(options: ExportOptions, shape: DatasetShape): Promise<Sink> {
  const writer = await openJsonlWriter(options.path, { inputPaths: options.inputPaths ?? [] });
  return {
    async rows(rows, provenance) {
      await writer.write(
        rows.map((row, index) => ({
          ...inOwnSpelling(row, shape),
          ...row.cells,
          ...(provenance !== undefined && {
            _provenance: Object.fromEntries((provenance[index] ?? []).map((cell) => [cell.column, cell])),
            _row: { state: row.state, error: row.error, credits: row.credits },
          }),
        })),
      );
    },
    close: () => writer.close(),
    abort: () => writer.abort(),
  };
}

/** JSON objects cannot repeat a key, so a repeated header keeps the name that tells it apart. */
function inOwnSpelling(row: DatasetRow, shape: DatasetShape): Record<string, unknown> {
  return Object.fromEntries(shape.header.map((name) => [name, row.input[name]]));
}
