import { once } from 'node:events';
import { CsvError, type Options, type Parser, parse } from 'csv-parse';
import { CsvAudit, type CsvFindings } from './csv-audit.ts';
import { MAX_ROW_BYTES, malformed } from './malformed.ts';
import type { LineBreakCounts } from './types.ts';

export interface CsvInOptions {
  readonly path: string;
  readonly delimiter: string;
  /** Undefined where they were not counted: then every kind is looked for. */
  readonly lineBreaks: LineBreakCounts | undefined;
  readonly limit: number | undefined;
  /** Physical line of the first byte: 2 after a `sep=` line. */
  readonly firstLine: number;
}

export interface CsvSink {
  header(cells: readonly string[]): void;
  /** The rows of one chunk of the source, in order. */
  rows(batch: readonly (readonly string[])[]): Promise<void>;
}

/**
 * Parses UTF-8 CSV as arrays of strings. Ragged rows and stray quotes are kept and counted. `header` is not called for a
 * file of blank lines only. Throws FILE_MALFORMED for a quote that is never closed.
 */
export async function readCsv(
  chunks: AsyncIterable<Buffer>,
  options: CsvInOptions,
  sink: CsvSink,
): Promise<CsvFindings> {
  const audit = new CsvAudit(options);
  const mostRows = options.limit ?? Number.POSITIVE_INFINITY;
  let batch: string[][] = [];
  let header = false;
  let rows = 0;
  let cut = false;
  const parser = parse(
    parserOptions(options, (record, at) => {
      if (cut) return;
      if (!header) {
        header = true;
        audit.header(record, at);
        sink.header(record);
      } else if (rows === mostRows) {
        cut = true;
      } else {
        rows++;
        audit.row(record, at);
        batch.push(record);
      }
    }),
  );
  const failure = failureOf(parser);
  const deliver = async (): Promise<void> => {
    const full = batch;
    batch = [];
    if (full.length > 0) await sink.rows(full);
  };
  try {
    for await (const chunk of chunks) {
      audit.add(chunk);
      await write(parser, chunk);
      failure.throwIfAny();
      await deliver();
      if (cut) break;
      if (audit.pendingBytes > MAX_ROW_BYTES) throw rowTooLarge(options.path, audit.lineAfter(parser.info.empty_lines));
    }
    if (!cut) {
      const ended = once(parser, 'close');
      parser.resume();
      parser.end();
      await ended;
      failure.throwIfAny();
      await deliver();
    }
  } catch (error) {
    throw fromCsvParse(error, options.path, audit.lineAfter(parser.info.empty_lines));
  } finally {
    parser.destroy();
  }
  return audit.findings(cut);
}

function parserOptions(
  { delimiter, lineBreaks }: CsvInOptions,
  onRecord: (record: string[], at: { bytes: number; empty_lines: number }) => void,
): Options {
  return {
    bom: false,
    delimiter,
    record_delimiter: recordDelimiters(lineBreaks),
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    // Taken here and not from the stream, which would cost an event for each row; the positions that `info: true` would
    // add to each record come as the second argument.
    on_record: (record, info) => {
      onRecord(record, info);
      return undefined;
    },
  };
}

/** csv-parse would settle on the first line break that it meets; a file may mix them, and fewer are faster. */
function recordDelimiters(lineBreaks: LineBreakCounts | undefined): string[] {
  if (lineBreaks === undefined || lineBreaks.cr > 0) return ['\r\n', '\n', '\r'];
  if (lineBreaks.crlf === 0) return ['\n'];
  return lineBreaks.lf === 0 ? ['\r\n'] : ['\r\n', '\n'];
}

function write(parser: Parser, chunk: Buffer): Promise<void> {
  return new Promise((resolve) => {
    // The error, if any, is kept by the listener.
    parser.write(chunk, () => resolve());
  });
}

function failureOf(parser: Parser): { throwIfAny(): void } {
  let failure: { readonly error: unknown } | undefined;
  parser.on('error', (error) => {
    failure ??= { error };
  });
  return {
    throwIfAny() {
      if (failure !== undefined) throw failure.error;
    },
  };
}

function fromCsvParse(error: unknown, path: string, line: number): unknown {
  if (error instanceof CsvError && error.code === 'CSV_QUOTE_NOT_CLOSED') {
    return malformed({ path, line }, 'the row that begins here has a quote that is never closed', {
      next: ['Close the quote, or double it if it belongs to the text.'],
    });
  }
  if (error instanceof CsvError) {
    return malformed({ path, line }, error.message, { next: ['Correct the row that begins there.'], cause: error });
  }
  // A cell beyond the longest string that JavaScript holds.
  return error instanceof RangeError || isStringTooLong(error) ? rowTooLarge(path, line) : error;
}

function isStringTooLong(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STRING_TOO_LONG';
}

function rowTooLarge(path: string, line: number): Error {
  return malformed({ path, line }, `the row that begins here is larger than ${MAX_ROW_BYTES / 1024 / 1024} MB`, {
    next: ['Look for a quote in that row that is never closed.'],
  });
}
