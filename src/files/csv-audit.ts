import { LinePosition } from './line-position.ts';
import { MAX_COLUMNS, malformed } from './malformed.ts';
import type { LineBreakCounts, LinesFinding, RaggedFinding, RaggedRow } from './types.ts';

const LISTED = 20;
const QUOTE = 34;
const LF = 10;
const CR = 13;

export interface CsvFindings {
  readonly rows: number;
  /** Cells of the widest row beyond the header's. */
  readonly extraCells: number;
  readonly ragged: RaggedFinding;
  readonly strayQuotes: LinesFinding;
  readonly blankLines: number;
  readonly emptyRows: number;
  readonly cutAtLimit: boolean;
}

/** Where the parser stands when it hands over a record: bytes up to the record's end, blank lines so far. */
interface ParserPosition {
  readonly bytes: number;
  readonly empty_lines: number;
}

/** Watches the records that the parser hands over and says, by physical line, what is unusual about them. */
export class CsvAudit {
  readonly #path: string;
  readonly #delimiter: number;
  readonly #position: LinePosition;
  #columns = 0;
  #rows = 0;
  #widest = 0;
  #short = 0;
  #long = 0;
  #emptyRows = 0;
  #blankLines = 0;
  #stray = 0;
  readonly #ragged: RaggedRow[] = [];
  readonly #strayLines: number[] = [];

  constructor(options: {
    readonly path: string;
    readonly delimiter: string;
    readonly lineBreaks: LineBreakCounts | undefined;
    readonly firstLine: number;
  }) {
    this.#path = options.path;
    this.#delimiter = options.delimiter.charCodeAt(0);
    const lfOnly = options.lineBreaks !== undefined && options.lineBreaks.cr === 0;
    this.#position = new LinePosition({ firstLine: options.firstLine, lfOnly });
  }

  /** The next bytes of the source, before the parser gets them. */
  add(chunk: Buffer): void {
    this.#position.add(chunk);
  }

  /** Line on which the next record begins, where the parser has met that many blank lines in all. */
  lineAfter(blankLines: number): number {
    return this.#position.line + (blankLines - this.#blankLines);
  }

  /** Bytes of the record that is not complete yet. */
  get pendingBytes(): number {
    return this.#position.pendingBytes;
  }

  header(cells: readonly string[], at: ParserPosition): void {
    const line = this.#pass(cells, at);
    this.#columns = cells.length;
    this.#widest = cells.length;
    this.#refuseTooWide(cells, line);
  }

  row(cells: readonly string[], at: ParserPosition): void {
    const line = this.#pass(cells, at);
    this.#rows++;
    if (cells.length !== this.#columns) this.#noteRagged(cells, line);
    if (cells[0] === '' && cells.every((cell) => cell === '')) this.#emptyRows++;
  }

  findings(cutAtLimit: boolean): CsvFindings {
    return {
      rows: this.#rows,
      extraCells: this.#widest - this.#columns,
      ragged: { count: this.#short + this.#long, short: this.#short, long: this.#long, first: this.#ragged },
      strayQuotes: { count: this.#stray, lines: this.#strayLines },
      blankLines: this.#blankLines,
      emptyRows: this.#emptyRows,
      cutAtLimit,
    };
  }

  /** Moves past the record and returns the line it began on. */
  #pass(cells: readonly string[], at: ParserPosition): number {
    const line = this.lineAfter(at.empty_lines);
    this.#blankLines = at.empty_lines;
    const raw = this.#position.advanceTo(at.bytes);
    if (cells.some((cell) => cell.includes('"')) && !isWellQuoted(joined(raw), this.#delimiter)) {
      this.#stray++;
      if (this.#strayLines.length < LISTED) this.#strayLines.push(line);
    }
    return line;
  }

  #noteRagged(cells: readonly string[], line: number): void {
    if (cells.length < this.#columns) this.#short++;
    else this.#long++;
    if (cells.length > this.#widest) {
      this.#widest = cells.length;
      this.#refuseTooWide(cells, line);
    }
    if (this.#ragged.length < LISTED) this.#ragged.push({ line, row: this.#rows, cells: cells.length });
  }

  #refuseTooWide(cells: readonly string[], line: number): void {
    if (cells.length <= MAX_COLUMNS) return;
    throw malformed(
      { path: this.#path, line },
      `the row has ${cells.length} cells, more than the ${MAX_COLUMNS} that are read`,
      {
        next: ['Check the delimiter, for example with `--delimiter ";"`.'],
      },
    );
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

/** True if every quote of a raw record stands where RFC 4180 (section 2, rules 5 to 7) allows one. */
function isWellQuoted(raw: Buffer, delimiter: number): boolean {
  let i = 0;
  while (raw[i] === LF || raw[i] === CR) i++;
  while (i < raw.length) {
    if (raw[i] !== QUOTE) {
      const end = raw.indexOf(delimiter, i);
      const quote = raw.indexOf(QUOTE, i);
      if (quote !== -1 && (end === -1 || quote < end)) return false;
      if (end === -1) return true;
      i = end + 1;
      continue;
    }
    const close = closingQuote(raw, i + 1);
    const after = raw[close + 1];
    if (after !== undefined && after !== delimiter && after !== LF && after !== CR) return false;
    if (after !== delimiter) return true;
    i = close + 2;
  }
  return true;
}

function closingQuote(raw: Buffer, from: number): number {
  for (let at = raw.indexOf(QUOTE, from); at !== -1; at = raw.indexOf(QUOTE, at + 2)) {
    if (raw[at + 1] !== QUOTE) return at;
  }
  return raw.length;
}
