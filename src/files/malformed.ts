import { CallsheetError } from '../sdk/index.ts';

/** A row larger than this is refused: no real row is, and a quote that is never closed makes the whole file one row. */
export const MAX_ROW_BYTES = 128 * 1024 * 1024;

/** Columns beyond this are refused: they come from a wrong delimiter, and every row would carry them all. */
export const MAX_COLUMNS = 20_000;

/** FILE_MALFORMED at a physical line of a file. */
export function malformed(
  { path, line }: { readonly path: string; readonly line: number },
  what: string,
  more: { readonly next: readonly string[]; readonly cause?: unknown },
): CallsheetError {
  return new CallsheetError('FILE_MALFORMED', `${path}, line ${line}: ${what}.`, {
    details: { file: path, line },
    next: more.next,
    ...(more.cause === undefined ? {} : { cause: more.cause }),
  });
}
