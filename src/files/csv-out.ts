import { CallsheetError } from '../sdk/index.ts';
import { OutputFile } from './output-file.ts';

export interface CsvWriterOptions {
  readonly header: readonly string[];
  /** Byte order mark, and cells that a spreadsheet would execute made inert. */
  readonly excel?: boolean;
  /** Files that must not be overwritten. */
  readonly inputPaths?: readonly string[];
}

export interface Written {
  readonly path: string;
  readonly rows: number;
  /** Cells, headers among them, that were made inert. */
  readonly inertCells: number;
}

export interface CsvWriter {
  /** Rows of cells in the header's order; missing cells at the end are empty. Await each before the next. */
  write(rows: readonly (readonly unknown[])[]): Promise<void>;
  /** Puts the file in its place. */
  close(): Promise<Written>;
  /** Leaves nothing, not even a file that was there half. Harmless after `close`. */
  abort(): Promise<void>;
}

/** Quotes are needed around these, and around what our own reader would take for a mark or a `sep=` line at the start. */
const NEEDS_QUOTES = /[",\r\n]|^\uFEFF|^sep=/i;

/**
 * What a spreadsheet executes at the start of a cell (https://owasp.org/www-community/attacks/CSV_Injection), with the
 * full-width forms that some normalise.
 */
const EXECUTED = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * Writes RFC 4180 CSV in UTF-8 with LF line breaks. null and undefined become empty cells, booleans and numbers are plain,
 * objects and arrays JSON. Throws OUTPUT_IS_INPUT, OUTPUT_FOLDER_MISSING, OUTPUT_NOT_WRITABLE.
 */
export async function openCsvWriter(path: string, options: CsvWriterOptions): Promise<CsvWriter> {
  const { header, excel = false, inputPaths = [] } = options;
  const file = await OutputFile.create(path, inputPaths);
  const encoder = new RowEncoder(header.length, excel);
  let rows = 0;
  await file.add(`${excel ? '\uFEFF' : ''}${encoder.encode(header)}`);
  return {
    async write(batch) {
      for (const row of batch) {
        if (row.length > header.length)
          throw tooManyCells(path, { row: rows + 1, cells: row.length, columns: header.length });
        rows++;
        const written = file.add(encoder.encode(row));
        if (written !== undefined) await written;
      }
    },
    async close() {
      await file.close();
      return { path, rows, inertCells: encoder.inertCells };
    },
    abort: () => file.abort(),
  };
}

class RowEncoder {
  inertCells = 0;
  readonly #columns: number;
  readonly #guard: boolean;

  constructor(columns: number, guard: boolean) {
    this.#columns = columns;
    this.#guard = guard;
  }

  encode(cells: readonly unknown[]): string {
    // A lone empty cell would read as a blank line.
    if (this.#columns === 1) return `${this.#cell(cells[0]) || '""'}\n`;
    let line = '';
    for (let i = 0; i < this.#columns; i++) {
      if (i > 0) line += ',';
      line += this.#cell(cells[i]);
    }
    return `${line}\n`;
  }

  #cell(value: unknown): string {
    if (value === null || value === undefined) return '';
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
    let text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    if (this.#guard && EXECUTED.test(text)) {
      this.inertCells++;
      // A leading apostrophe makes a spreadsheet take the cell for text.
      text = `'${text}`;
    }
    return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
}

function tooManyCells(
  path: string,
  { row, cells, columns }: { readonly row: number; readonly cells: number; readonly columns: number },
): CallsheetError {
  return new CallsheetError('INTERNAL', `Row ${row} of ${path} has ${cells} cells for ${columns} columns.`, {
    details: { path, row, cells, columns },
  });
}
