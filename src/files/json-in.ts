import type { JsonObject } from '../sdk/index.ts';
import { MAX_COLUMNS, MAX_ROW_BYTES, malformed } from './malformed.ts';
import type { LinesFinding } from './types.ts';

const LF = 10;
const LISTED = 20;

/** A number of 16 or more characters may be beyond what JavaScript holds: only then is each one looked at. */
const LONG_NUMBER = /\d[\d.]{15}/;

export interface JsonFindings {
  readonly rows: number;
  /** Keys of all objects, in the order of first sight. */
  readonly header: readonly string[];
  readonly blankLines: number;
  readonly bigNumbers: LinesFinding;
  readonly cutAtLimit: boolean;
}

export interface JsonInOptions {
  readonly path: string;
  readonly limit: number | undefined;
}

/** Gets the normalised JSON text (one line) of each object, in lots. */
export type JsonSink = (lines: readonly string[]) => Promise<void>;

/** Reads UTF-8 JSON lines, each of them an object. Throws FILE_MALFORMED naming the line. */
export async function readJsonl(
  chunks: AsyncIterable<Buffer>,
  options: JsonInOptions,
  sink: JsonSink,
): Promise<JsonFindings> {
  const objects = new ObjectReader(options.path);
  const mostRows = options.limit ?? Number.POSITIVE_INFINITY;
  let blankLines = 0;
  let line = 0;
  let cutAtLimit = false;
  for await (const text of lines(chunks, options.path)) {
    line++;
    if (text.trim() === '') {
      blankLines++;
      continue;
    }
    cutAtLimit = objects.rows === mostRows;
    if (cutAtLimit) break;
    objects.add(text, line);
    if (objects.full) await sink(objects.take());
  }
  await sink(objects.take());
  return objects.findings({ blankLines, cutAtLimit });
}

async function* lines(chunks: AsyncIterable<Buffer>, path: string): AsyncGenerator<string> {
  const cut: Buffer[] = [];
  let cutBytes = 0;
  let line = 1;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      cut.push(chunk.subarray(start, end));
      yield cut.length === 1 ? chunk.toString('utf8', start, end) : Buffer.concat(cut).toString('utf8');
      cut.length = 0;
      cutBytes = 0;
      start = end + 1;
      line++;
    }
    cut.push(chunk.subarray(start));
    cutBytes += chunk.length - start;
    if (cutBytes > MAX_ROW_BYTES) throw tooLarge(path, line);
  }
  if (cutBytes > 0) yield Buffer.concat(cut).toString('utf8');
}

export function tooLarge(path: string, line: number): Error {
  return malformed({ path, line }, `the object that begins here is larger than ${MAX_ROW_BYTES / 1024 / 1024} MB`, {
    next: ['JSON lines hold one object a line; a JSON array belongs in a file that ends in .json.'],
  });
}

/** Checks and normalises objects, and collects what is to be said about them. */
export class ObjectReader {
  rows = 0;
  #size = 0;
  #taken: string[] = [];
  #bigNumbers = 0;
  readonly #path: string;
  readonly #header = new Set<string>();
  readonly #bigNumberLines: number[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** True when enough has been added to hand it on. */
  get full(): boolean {
    return this.#taken.length >= 256 || this.#size >= 256 * 1024;
  }

  add(text: string, line: number): void {
    const value = this.#parse(text, line);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw malformed({ path: this.#path, line }, `an object is expected here, not ${kindOf(value)}`, {
        next: [
          Array.isArray(value)
            ? 'If the whole file is one array, name it with the ending .json.'
            : 'Give each row as an object such as {"name": "…"}.',
        ],
      });
    }
    for (const key of Object.keys(value)) this.#header.add(key);
    if (this.#header.size > MAX_COLUMNS) {
      throw malformed({ path: this.#path, line }, `the objects have more than ${MAX_COLUMNS} different keys`, {
        next: ['Give the rows the same keys, and put what varies into one nested object.'],
      });
    }
    const normalised = JSON.stringify(value);
    this.rows++;
    this.#size += normalised.length;
    this.#taken.push(normalised);
  }

  take(): string[] {
    const taken = this.#taken;
    this.#taken = [];
    this.#size = 0;
    return taken;
  }

  findings(more: { readonly blankLines: number; readonly cutAtLimit: boolean }): JsonFindings {
    return {
      rows: this.rows,
      header: [...this.#header],
      bigNumbers: { count: this.#bigNumbers, lines: this.#bigNumberLines },
      ...more,
    };
  }

  #parse(text: string, line: number): JsonObject | unknown {
    try {
      if (!LONG_NUMBER.test(text)) return JSON.parse(text);
      let kept = 0;
      const value: unknown = JSON.parse(text, (_key, parsed: unknown, context?: { readonly source?: string }) => {
        const source = context?.source;
        if (typeof parsed !== 'number' || source === undefined || holds(parsed, source)) return parsed;
        kept++;
        return source;
      });
      if (kept > 0) {
        this.#bigNumbers += kept;
        if (this.#bigNumberLines.length < LISTED) this.#bigNumberLines.push(line);
      }
      return value;
    } catch (cause) {
      throw malformed(
        { path: this.#path, line },
        `this is not JSON (${cause instanceof Error ? cause.message : 'unknown'})`,
        {
          next: ['Correct that line; each object must be whole, with keys and strings in double quotes.'],
          cause,
        },
      );
    }
  }
}

/** Whole numbers must come out as they went in; the last digits of a fraction may be rounded. */
function holds(parsed: number, source: string): boolean {
  return Number.isFinite(parsed) && (!/^-?\d+$/.test(source) || Number.isSafeInteger(parsed));
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
