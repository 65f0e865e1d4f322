import { CallsheetError, ERROR_CODES, type ErrorCode } from '../sdk/index.ts';
import type { Terminal } from './terminal.ts';

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly next: readonly string[];
  readonly exit: number;
  /** Where it was thrown; shown on demand only. */
  readonly stack: string | undefined;
}

/** Any error as the command line tells it. What is not one of ours is a fault of ours. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CallsheetError) {
    const { code, message, details, next, stack } = error;
    return { code, message, details, next, exit: ERROR_CODES[code].exit, stack };
  }
  const told = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    code: 'INTERNAL',
    message: `A fault of Callsheet itself: ${told}`,
    details: {},
    next: ['Run it again with CALLSHEET_DEBUG=1, which prints where it happened, and report that.'],
    exit: ERROR_CODES.INTERNAL.exit,
    stack: error instanceof Error ? error.stack : undefined,
  };
}

/** The `error` object of every `--json` output. */
export function errorJson(failure: Failure): Record<string, unknown> {
  const { code, message, details, next } = failure;
  return { code, message, details, next };
}

/** Message, code and what to do next, as lines. */
export function failureLines(failure: Failure): string[] {
  const lines = [`${failure.code}: ${failure.message}`];
  for (const step of failure.next) lines.push(`  → ${step}`);
  return lines;
}

/** Prints an error where the command's reader looks for it, and returns the exit code. */
export async function tellFailure(terminal: Terminal, error: unknown): Promise<number> {
  const failure = failureOf(error);
  // What goes wrong behind the document, on closing, is for stderr.
  if (terminal.json && !terminal.hasDocument) await terminal.document({ error: errorJson(failure) });
  else for (const line of failureLines(failure)) terminal.note(line);
  if (terminal.env.CALLSHEET_DEBUG === '1' && failure.stack !== undefined) terminal.note(failure.stack);
  return failure.exit;
}
