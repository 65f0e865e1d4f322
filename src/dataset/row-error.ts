import { canonicalJson } from '../scope/index.ts';
import { CallsheetError, type JsonValue } from '../sdk/index.ts';

/** Why a row failed, as its record keeps it. */
export interface RowError {
  readonly code: string;
  readonly message: string;
  readonly column: string;
  /** The row's key as people write it, or `#` and its number. */
  readonly row: string;
  /** File and line of the author's code that threw, where the error says. */
  readonly at?: string;
  readonly details?: JsonValue;
  readonly next?: readonly string[];
  readonly retryable?: true;
}

export function rowError(
  error: unknown,
  { at: told, ...place }: { readonly column: string; readonly row: string; readonly at?: string | undefined },
): RowError {
  if (error instanceof CallsheetError) {
    const details = plainDetails(error.details);
    return {
      code: error.code,
      message: error.message,
      ...place,
      ...(details === undefined ? {} : { details }),
      ...(error.next.length > 0 ? { next: error.next } : {}),
      ...(error.retryable ? { retryable: true } : {}),
    };
  }
  const at = told ?? (error instanceof Error ? firstAuthorLine(error.stack) : undefined);
  return {
    code: 'COLUMN_FAILED',
    message: wellFormed(error instanceof Error ? `${error.name}: ${error.message}` : thrownText(error)),
    ...place,
    ...(at === undefined ? {} : { at }),
    next: [`Mend column '${place.column}'${at === undefined ? '' : ` at ${at}`}; the other rows are kept.`],
  };
}

function thrownText(value: unknown): string {
  try {
    return `a resolver threw ${typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))}`;
  } catch {
    return `a resolver threw a ${typeof value}`;
  }
}

function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** Details of an error are for machines: what of them is no JSON is left out rather than guessed at. */
function plainDetails(details: Readonly<Record<string, unknown>>): JsonValue | undefined {
  if (Object.keys(details).length === 0) return undefined;
  try {
    return JSON.parse(canonicalJson(details)) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The folder of all rooms: what an error passes through on its way is not where it was made. */
const OUR_FOLDER = new URL('..', import.meta.url).href;

/** `file:line:column` of the innermost stack frame that is neither Node's nor ours. */
function firstAuthorLine(stack: string | undefined): string | undefined {
  for (const line of stack?.split('\n').slice(1) ?? []) {
    const place = /^at (?:.*\(|async )?([^()]+:\d+:\d+)\)?$/.exec(line.trim())?.[1];
    if (place === undefined || place.startsWith(OUR_FOLDER) || !/^(file:\/\/|\/|[A-Za-z]:\\)/.test(place)) continue;
    return place.startsWith('file://') ? decodeURI(place.slice('file://'.length)) : place;
  }
  return undefined;
}
