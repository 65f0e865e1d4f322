import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { CallsheetError } from '../sdk/index.ts';
import type { StoredAnswer } from './idempotency.ts';
import type { LedgerEntry } from './types.ts';

/** One line of the file; the answer is there where an idempotency key was. */
export interface LedgerLine {
  readonly v: 1;
  readonly entry: LedgerEntry;
  readonly answer?: StoredAnswer;
}

export interface LedgerFile {
  /** What earlier processes left. */
  readonly lines: readonly LedgerLine[];
  /** On its way to the kernel when it returns: survives a kill of this process, not a power cut. */
  append(line: LedgerLine): void;
  clear(): void;
  close(): void;
}

/**
 * Opens or makes the file (readable by its owner only). A last line without its line break is what a kill in the middle
 * of a write leaves; it is cut off. Throws `FILE_MALFORMED` with the line number, or `OUTPUT_NOT_WRITABLE`.
 */
export function openLedgerFile(path: string): LedgerFile {
  const descriptor = openForAppending(path);
  const bytes = readFileSync(path);
  const whole = bytes.lastIndexOf(10) + 1;
  if (whole < bytes.length) ftruncateSync(descriptor, whole);
  const texts = bytes.toString('utf8', 0, whole).split('\n').slice(0, -1);
  return {
    lines: texts.map((text, index) => parseLine(text, { path, line: index + 1 })),
    append: (line) => {
      writeSync(descriptor, `${JSON.stringify(line)}\n`);
    },
    clear: () => ftruncateSync(descriptor, 0),
    close: () => closeSync(descriptor),
  };
}

function openForAppending(path: string): number {
  try {
    return openSync(path, 'a', 0o600);
  } catch (cause) {
    throw new CallsheetError('OUTPUT_NOT_WRITABLE', `The sandbox can't write its ledger to ${path}.`, {
      details: { file: path },
      next: ['Choose a ledger file in a folder that exists and that you may write to.'],
      cause,
    });
  }
}

function parseLine(text: string, place: { readonly path: string; readonly line: number }): LedgerLine {
  const refuse = (problem: string, cause?: unknown): never => {
    throw new CallsheetError('FILE_MALFORMED', `${place.path}, line ${place.line}: ${problem}.`, {
      details: { file: place.path, line: place.line },
      next: ['Remove the file to start with an empty ledger.'],
      cause,
    });
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return refuse('this is not JSON', cause);
  }
  const line = value as Partial<LedgerLine> | null;
  if (typeof line !== 'object' || line === null || line.v !== 1 || !isEntry(line.entry))
    return refuse('this is no line of a sandbox ledger');
  return line as LedgerLine;
}

function isEntry(value: unknown): value is LedgerEntry {
  if (typeof value !== 'object' || value === null) return false;
  const entry = value as Partial<LedgerEntry>;
  const texts = [entry.endpoint, entry.method, entry.provider, entry.account, entry.question];
  const numbers = [entry.seq, entry.at, entry.credits, entry.status];
  return texts.every((text) => typeof text === 'string') && numbers.every((number) => typeof number === 'number');
}
