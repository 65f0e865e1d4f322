import type { Fence } from '../scope/index.ts';
import type { Committer, RowRecord } from '../store/index.ts';
import type { LegOutcome } from './program.ts';
import type { RowError } from './row-error.ts';

const MOST_ROWS = 4096;
const MOST_BYTES = 16_000_000;

/**
 * Records of rows on their way to disk.
 *
 * Owns: how many rows, and how many bytes of them, have been handed to the committer and are not durable yet.
 * Does not own: grouping (the committer), or what a row's record says (row).
 *
 * Invariant: `room` holds the start of further rows back while more than 4,096 rows or 16 MB wait, so that rows of plain
 * functions cannot outrun the disk.
 */
export class RowRecords {
  readonly #committer: Committer;
  readonly #fence: Fence;
  readonly #datasetNo: number;
  #rows = 0;
  #bytes = 0;
  #waiting: { readonly rows: number; readonly resolve: () => void } | undefined;

  constructor(committer: Committer, fence: Fence, datasetNo: number) {
    this.#committer = committer;
    this.#fence = fence;
    this.#datasetNo = datasetNo;
  }

  /** Hands a record over; `owner` is told when it is durable, or why it is not. */
  put(row: RowRecord, owner: { settled(error: unknown | undefined): void }): void {
    const bytes = row.cells.length + (row.error?.length ?? 0) + 100;
    this.#rows++;
    this.#bytes += bytes;
    this.#committer.defer([{ kind: 'row', fence: this.#fence, datasetNo: this.#datasetNo, row }], (error) => {
      this.#rows--;
      this.#bytes -= bytes;
      owner.settled(error);
      const waiting = this.#waiting;
      if (waiting === undefined || this.#rows > waiting.rows || this.#bytes > MOST_BYTES / 2) return;
      this.#waiting = undefined;
      waiting.resolve();
    });
  }

  /** A promise to wait for before a further row starts, where too much is on its way. */
  room(): Promise<void> | undefined {
    return this.#rows < MOST_ROWS && this.#bytes < MOST_BYTES ? undefined : this.#below(MOST_ROWS / 2);
  }

  /** Resolves when every record is settled. */
  async drained(): Promise<void> {
    if (this.#rows === 0) return;
    const empty = this.#below(0);
    // Failures reach `settled` of the record they belong to.
    this.#committer.flush().catch(() => {});
    await empty;
  }

  #below(rows: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { rows, resolve };
    });
  }
}

const LETTERS: Readonly<Record<LegOutcome, string>> = {
  none: '.',
  hit: 'h',
  miss: 'm',
  unavailable: 'u',
  skipped: 's',
  failed: 'f',
  rejected: 'r',
};
const OUTCOMES = new Map(Object.entries(LETTERS).map(([outcome, letter]) => [letter, outcome as LegOutcome]));

/** What the letters of a trace say of the legs, in their order. */
export function legOutcomes(letters: string): readonly LegOutcome[] {
  return [...letters].map((letter) => OUTCOMES.get(letter) ?? 'none');
}

/** Why a leg has no answer. */
export interface LegError {
  readonly code: string;
  readonly message: string;
}

/** How the legs of a row ended: one letter a leg in the frame's order, and the errors of those that have one. */
export function traceText(outcomes: readonly LegOutcome[], errors: ReadonlyMap<number, LegError> | undefined): string {
  let letters = '';
  for (const outcome of outcomes) letters += LETTERS[outcome];
  if (errors === undefined || errors.size === 0) return `"${letters}"`;
  return JSON.stringify({ legs: letters, errors: Object.fromEntries(errors) });
}

export interface LegTrace {
  readonly path: string;
  readonly outcome: Exclude<LegOutcome, 'none'>;
  readonly error?: LegError;
}

/** The legs that a trace says were reached. */
export function readTrace(text: string, legs: readonly string[]): LegTrace[] {
  const trace = JSON.parse(text) as string | { legs: string; errors: Record<string, LegError> };
  const letters = typeof trace === 'string' ? trace : trace.legs;
  const errors = typeof trace === 'string' ? {} : trace.errors;
  const read: LegTrace[] = [];
  legs.forEach((path, leg) => {
    const outcome = OUTCOMES.get(letters[leg] ?? '.') ?? 'none';
    if (outcome === 'none') return;
    const error = errors[leg];
    read.push(error === undefined ? { path, outcome } : { path, outcome, error });
  });
  return read;
}

/** What a cells text says about the columns of its frame: a value each, undefined where the row did not get there. */
export function readCells(row: RowRecord): readonly unknown[] {
  return JSON.parse(row.cells) as unknown[];
}

/** Code and message of an error for a leg's trace. */
export function legError(error: RowError): LegError {
  return { code: error.code, message: error.message };
}
