import { ofRun } from '../report/index.ts';
import { CallsheetError } from '../sdk/index.ts';

/** The error with the run's id where whoever threw it could not know that. */
export function aboutRun<Thrown>(error: Thrown, runId: string): Thrown | CallsheetError {
  if (!(error instanceof CallsheetError) || !error.next.some((step) => step.includes('<run>'))) return error;
  const { code, message, details, next, retryable } = error;
  return new CallsheetError(code, message, { details, next: ofRun(next, runId), retryable, cause: error });
}
