import type { JsonValue } from '../sdk/index.ts';

/** What a file is read as. `json` is one array of objects; `tsv` is `csv` that prefers the tab. */
export type FileFormat = 'csv' | 'tsv' | 'jsonl' | 'json';

/** One row as the code sees it: a plain object keyed by the unique header names. Cells of CSV files are strings. */
export type Row = Readonly<Record<string, JsonValue>>;

export interface EncodingFinding {
  /** A label of the WHATWG Encoding Standard, such as `utf-8` or `windows-1252`. */
  readonly name: string;
  readonly how: 'option' | 'bom' | 'ascii' | 'utf-8' | 'nul-pattern' | 'detected';
  /** 0 to 100; only where `how` is `detected`. */
  readonly confidence?: number;
}

export interface LineBreakCounts {
  readonly lf: number;
  readonly crlf: number;
  readonly cr: number;
}

export interface RenamedHeader {
  /** The column's number in the file, from 1. */
  readonly column: number;
  /** Its spelling in the file. */
  readonly from: string;
  readonly to: string;
  readonly why: 'duplicate' | 'empty' | 'reserved';
}

export interface RaggedRow {
  /** Physical line on which the row begins, from 1. */
  readonly line: number;
  /** Data row, from 1 (the header is not one). */
  readonly row: number;
  readonly cells: number;
}

export interface RaggedFinding {
  readonly count: number;
  /** Rows with fewer cells than the header: the missing ones read as empty strings. */
  readonly short: number;
  /** Rows with more cells than the header: the extra ones are kept in the columns `_extra_1`, `_extra_2`, … */
  readonly long: number;
  /** The first 20. */
  readonly first: readonly RaggedRow[];
}

/** A count with the physical lines of its first 20 cases. */
export interface LinesFinding {
  readonly count: number;
  readonly lines: readonly number[];
}

/** What reading a file found out about it. Plain JSON. */
export interface ImportReport {
  readonly format: FileFormat;
  readonly rows: number;
  readonly columns: number;
  readonly encoding: EncodingFinding;
  /** Tabular files only. */
  readonly delimiter?: string;
  readonly delimiterFrom?: 'option' | 'sep-line' | 'sniffed' | 'default';
  /** Not counted in UTF-16 files. */
  readonly lineBreaks?: LineBreakCounts;
  readonly renamedHeaders: readonly RenamedHeader[];
  readonly ragged: RaggedFinding;
  /** Rows with quotes where the CSV rules (RFC 4180) allow none; the characters are kept as they stand. */
  readonly strayQuotes: LinesFinding;
  /** Kept in the values. */
  readonly nulBytes: number;
  /** The file began with Excel's `sep=` line, which is not a row. */
  readonly sepLine: boolean;
  readonly blankLines: number;
  /** Rows all of whose cells are empty; they are kept. */
  readonly emptyRows: number;
  /** JSON numbers that JavaScript cannot hold, such as 19-digit ids: kept as strings. */
  readonly bigNumbers: LinesFinding;
  /** Rows were left unread because of `limit`. */
  readonly cutAtLimit: boolean;
  readonly warnings: readonly string[];
}

/** A source file that was read once and lies as JSON lines below `filesDir`. Plain JSON. */
export interface StagedFile {
  /** SHA-256 (hex) over the original bytes and the parse options. */
  readonly digest: string;
  /** File name without its folder. */
  readonly name: string;
  readonly sourcePath: string;
  readonly format: FileFormat;
  /** Unique names, in the file's order; generated `_extra_N` columns come last. */
  readonly header: readonly string[];
  /** The file's own spelling, without the generated columns. */
  readonly originalHeader: readonly string[];
  readonly rows: number;
  /** Size of the source. */
  readonly bytes: number;
  readonly report: ImportReport;
}

export interface StageOptions {
  /** Folder for staged copies; made (0700) if it is not there. */
  readonly filesDir: string;
  /** A label such as `windows-1252`; without it the encoding is detected. */
  readonly encoding?: string;
  /** One ASCII character, or `comma`, `semicolon`, `tab`, `pipe`; without it the delimiter is detected. */
  readonly delimiter?: string;
  /** Read at most this many rows. */
  readonly limit?: number;
  /** Without it, told by the file's ending; an unknown ending is read as CSV. */
  readonly format?: FileFormat;
}
