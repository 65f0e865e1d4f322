import { CallsheetError, RunFatalError } from '../sdk/index.ts';

/**
 * The run-fatal form of an error: its code, message, details and next steps stay. What is none of ours is told by
 * `otherwise`.
 */
export function fatalForm(error: unknown, otherwise: (told: string) => RunFatalError): RunFatalError {
  if (error instanceof RunFatalError) return error;
  if (!(error instanceof CallsheetError)) return otherwise(error instanceof Error ? error.message : String(error));
  const { code, message, details, next } = error;
  return new RunFatalError(code, message, { details, next, cause: error });
}
