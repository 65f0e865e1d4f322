import { nearestNames } from '../scope/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';
import type { Row } from './types.ts';

export interface ColumnRequest {
  /** Name for the code → the header that bears it, or several, the first that the file has wins. */
  readonly columns?: Readonly<Record<string, string | readonly string[]>>;
  /** Header → name for the code, which replaces the header there. */
  readonly rename?: Readonly<Record<string, string>>;
  /** Names for the code, or headers, without which the file is refused. */
  readonly required?: readonly string[];
}

/** Which header each name for the code stands for. Plain JSON; stored rows and exports never change by it. */
export interface ColumnMapping {
  /** Name for the code → header. */
  readonly headerOf: Readonly<Record<string, string>>;
  /** Headers that the code sees under their new name only. */
  readonly replaced: readonly string[];
  /** Names asked for in `columns` or `rename` and not required, whose header the file lacks. */
  readonly unmatched: readonly string[];
}

/**
 * Maps the file's headers to the names that the code uses. An exact header is taken first; else differences of case, spaces
 * and underscores are forgiven, if one header fits. A required name that only fits so becomes a name for the code as well.
 * Throws COLUMN_MISSING (what was found, nearest names) and COLUMN_AMBIGUOUS.
 */
export function mapColumns(header: readonly string[], request: ColumnRequest): ColumnMapping {
  const finder = new HeaderFinder(header);
  const headerOf = new Map<string, string>();
  const replaced: string[] = [];
  const unmatched: string[] = [];
  for (const [name, wanted] of Object.entries(request.columns ?? {})) {
    const found = finder.find(typeof wanted === 'string' ? [wanted] : wanted, name);
    if (found === undefined) unmatched.push(name);
    else headerOf.set(name, found);
  }
  for (const [wanted, name] of Object.entries(request.rename ?? {})) {
    const found = finder.find([wanted], name);
    if (found === undefined) {
      unmatched.push(name);
      continue;
    }
    refuseSecondSource(name, found, headerOf);
    headerOf.set(name, found);
    if (found !== name) replaced.push(found);
  }
  const missing: string[] = [];
  for (const name of request.required ?? []) {
    if (headerOf.has(name)) continue;
    const found = unmatched.includes(name) ? undefined : finder.find([name], name);
    if (found === undefined) missing.push(name);
    else if (found !== name) headerOf.set(name, found);
  }
  if (missing.length > 0) throw columnMissing(missing, header, request);
  return { headerOf: Object.fromEntries(headerOf), replaced, unmatched };
}

/**
 * A function from a stored row to the row that the code sees: its own columns (less those that `rename` replaced) and the
 * mapped names. Where a mapped name is also another column's header, the mapping wins: it was asked for.
 */
export function rowMapper(mapping: ColumnMapping): (row: Row) => Row {
  const pairs = Object.entries(mapping.headerOf).filter(([name, header]) => name !== header);
  if (pairs.length === 0) return (row) => row;
  const replaced = mapping.replaced.filter((header) => !Object.hasOwn(mapping.headerOf, header));
  return (row) => {
    const seen: Record<string, JsonValue> = { ...row };
    for (const header of replaced) delete seen[header];
    for (const [name, header] of pairs) {
      const value = row[header];
      if (value === undefined) delete seen[name];
      else seen[name] = value;
    }
    return seen;
  };
}

class HeaderFinder {
  readonly #exact: ReadonlySet<string>;
  readonly #folded = new Map<string, string[]>();

  constructor(header: readonly string[]) {
    this.#exact = new Set(header);
    for (const name of header) {
      const key = folded(name);
      const same = this.#folded.get(key);
      if (same === undefined) this.#folded.set(key, [name]);
      else same.push(name);
    }
  }

  find(wanted: readonly string[], name: string): string | undefined {
    for (const one of wanted) {
      if (this.#exact.has(one)) return one;
      const fitting = this.#folded.get(folded(one)) ?? [];
      if (fitting.length > 1) throw ambiguous(name, one, fitting);
      if (fitting[0] !== undefined) return fitting[0];
    }
    return undefined;
  }
}

function folded(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\s_]+/g, '')
    .toLowerCase();
}

function refuseSecondSource(name: string, header: string, headerOf: ReadonlyMap<string, string>): void {
  const already = headerOf.get(name);
  if (already !== undefined && already !== header) throw ambiguous(name, name, [already, header]);
}

function ambiguous(name: string, wanted: string, fitting: readonly string[]): CallsheetError {
  const list = fitting.map((header) => JSON.stringify(header)).join(', ');
  return new CallsheetError('COLUMN_AMBIGUOUS', `Several headers fit the column ${JSON.stringify(name)}: ${list}.`, {
    details: { column: name, wanted, fitting },
    next: [
      `Name the header in its exact spelling: columns: { ${JSON.stringify(name)}: ${JSON.stringify(fitting[0])} }.`,
    ],
  });
}

function columnMissing(missing: readonly string[], header: readonly string[], request: ColumnRequest): CallsheetError {
  const nearest = Object.fromEntries(missing.map((name) => [name, nearestNames(name, header)]));
  const shown = header.slice(0, 50).map((name) => JSON.stringify(name));
  const list = `${shown.join(', ')}${header.length > 50 ? ` and ${header.length - 50} more` : ''}`;
  const names = missing.map((name) => {
    const wanted = request.columns?.[name];
    if (wanted === undefined) return JSON.stringify(name);
    const from = typeof wanted === 'string' ? [wanted] : wanted;
    return `${JSON.stringify(name)} (from ${from.map((one) => JSON.stringify(one)).join(' or ')})`;
  });
  return new CallsheetError(
    'COLUMN_MISSING',
    `The file lacks ${missing.length === 1 ? 'the required column' : 'the required columns'} ${names.join(', ')}. It has ${list}.`,
    {
      details: { missing, found: header, nearest },
      next: missing.map((name) => {
        const near = nearest[name]?.[0];
        return near === undefined
          ? `Say which header holds it: columns: { ${JSON.stringify(name)}: 'Header' }.`
          : `Did you mean columns: { ${JSON.stringify(name)}: ${JSON.stringify(near)} }?`;
      }),
    },
  );
}
