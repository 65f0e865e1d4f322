import { canonicalJson, NotJsonError, type Scope } from '../scope/index.ts';
import { CallsheetError, type RowCtx } from '../sdk/index.ts';
import type { Column } from './columns.ts';
import { placedPath } from './keys.ts';
import { isThenable, type LegSink, runProgram } from './program.ts';

/** What a cell is made from. */
export interface CellPlace {
  /** The scope of the row. */
  readonly scope: Scope;
  readonly row: Readonly<Record<string, unknown>>;
  readonly ordinal: number;
  /** The row's cells of the last run, by column. */
  readonly previous: Readonly<Record<string, unknown>> | undefined;
  readonly sink: LegSink;
  rowCtx(scope: Scope): RowCtx;
}

/** Marks a cell that `runIf` left out. */
export const LEFT_OUT: unique symbol = Symbol('left out');

/**
 * Runs a column's resolver on a row: its value, a promise of it, or `LEFT_OUT`. Whatever is plain comes back plain, so that
 * a dataset of plain functions awaits nothing.
 */
export function resolveCell(column: Column, place: CellPlace): unknown {
  const scope = place.scope.at(column.name);
  if (column.fn !== undefined) return column.fn(place.row, place.rowCtx(scope), place.ordinal);
  if (column.program !== undefined)
    return runProgram(column.program, place.row, {
      scope,
      index: place.ordinal,
      sink: place.sink,
      rowCtx: (inner) => place.rowCtx(inner),
    });
  const { spec } = column;
  if (spec === undefined) return null;
  const run = (asked: unknown): unknown =>
    asked
      ? spec.run({
          row: place.row,
          ctx: place.rowCtx(scope),
          index: place.ordinal,
          previousCell: place.previous?.[column.name],
        })
      : LEFT_OUT;
  const asked = spec.runIf === undefined ? true : spec.runIf(place.row);
  return isThenable(asked) ? asked.then(run) : run(asked);
}

/** The JSON text of a cell; undefined is null. Throws `RESULT_NOT_JSON` with the path of what is not plain JSON. */
export function cellText(value: unknown, column: string, ordinal: number): string {
  if (value === undefined || value === null) return 'null';
  try {
    const canonical = canonicalJson(value);
    // The canonical text sorts keys; what the author's object looked like is what an export should show.
    return typeof value === 'object' ? JSON.stringify(value) : canonical;
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    const path = placedPath(error, `rows[${ordinal}].${column}`);
    throw new CallsheetError('RESULT_NOT_JSON', `${path} is ${error.found}, which is not JSON.`, {
      details: { path, found: error.found, column },
      next: ['Return JSON from the resolver: texts, numbers, booleans, null, lists and plain objects of them.'],
      cause: error,
    });
  }
}
