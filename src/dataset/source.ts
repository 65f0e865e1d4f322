import { canonicalJson, NotJsonError } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import { fileOf, isDatasetHandle, rowsOfHandle } from './handle.ts';
import { placedPath } from './keys.ts';
import type { FilePlan } from './plan.ts';
import { isThenable } from './program.ts';

/** Where a dataset's rows come from: a staged file that is read in place, or values that must be spooled. */
export type Source =
  | { readonly kind: 'file'; readonly file: FilePlan }
  | { readonly kind: 'values'; pieces(): AsyncGenerator<Iterable<unknown>> };

/** Refuses at once what can never be a source. Throws `DATASET_DEFINITION_INVALID`. */
export function checkItems(dataset: string, items: unknown): void {
  if (typeof items === 'object' && items !== null) {
    if (isDatasetHandle(items) || rowsOfHandle(items) !== undefined || isThenable(items)) return;
    if (Symbol.iterator in items || Symbol.asyncIterator in items) return;
  }
  const found = items === null ? 'null' : typeof items === 'object' ? 'an object that is no list' : `a ${typeof items}`;
  throw new CallsheetError('DATASET_DEFINITION_INVALID', `Dataset '${dataset}' was given ${found} instead of rows.`, {
    details: { dataset },
    next: ['Give it an array, an iterable, an async iterable, a dataset, or what ctx.csv returns.'],
  });
}

/** Opens the items of a dataset. Nothing is read yet; a promise is awaited to see what it holds. */
export async function openSource(dataset: string, items: unknown): Promise<Source> {
  const given = isThenable(items) ? await items : items;
  if (given !== items) checkItems(dataset, given);
  const file = fileOf(given);
  if (file !== undefined) return { kind: 'file', file };
  const rows = rowsOfHandle(given);
  if (rows !== undefined) return { kind: 'values', pieces: () => rows() };
  const list = given as Iterable<unknown> | AsyncIterable<unknown>;
  if (Symbol.asyncIterator in list) return { kind: 'values', pieces: () => oneByOne(list) };
  return { kind: 'values', pieces: () => whole(list) };
}

/** Taken as it is read: a generator's rows are never together in memory. */
async function* whole(items: Iterable<unknown>): AsyncGenerator<Iterable<unknown>> {
  yield items;
}

/** An async source may be slow, and what it gave must be counted when it gave it. */
async function* oneByOne(items: AsyncIterable<unknown>): AsyncGenerator<Iterable<unknown>> {
  for await (const item of items) yield [item];
}

/** A row of values as JSON text with its keys in the author's order. Throws `ROW_INVALID` with row number and path. */
export function spoolText(dataset: string, row: unknown, ordinal: number): string {
  const refuse = (path: string, found: string, cause?: unknown): never => {
    throw new CallsheetError(
      'ROW_INVALID',
      `Dataset '${dataset}', row ${ordinal + 1}: ${path} is ${found}; a row is a plain object of JSON values.`,
      {
        details: { dataset, row: ordinal + 1, path, found },
        next: ['Map the source to plain objects first, for example rows.map((value) => ({ value })).'],
        cause,
      },
    );
  };
  const path = `rows[${ordinal}]`;
  if (typeof row !== 'object' || row === null) return refuse(path, row === null ? 'null' : `a ${typeof row}`);
  if (Array.isArray(row)) return refuse(path, 'a list');
  if (isDatasetHandle(row)) return refuse(path, 'a dataset');
  if (flat(row)) return JSON.stringify(row);
  try {
    canonicalJson(row);
    return JSON.stringify(row);
  } catch (error) {
    if (error instanceof NotJsonError) return refuse(placedPath(error, path), error.found, error);
    throw error;
  }
}

/** True for the rows that most sources give, whose values need no walk to be known as JSON. */
function flat(row: object): boolean {
  if (Object.getPrototypeOf(row) !== Object.prototype) return false;
  for (const value of Object.values(row)) {
    if (typeof value === 'string' ? value.isWellFormed() : value === null || value === undefined) continue;
    if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) continue;
    return false;
  }
  return true;
}
