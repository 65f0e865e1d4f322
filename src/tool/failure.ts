import { CallsheetError, type Effect, type ErrorCode } from '../sdk/index.ts';
import type { CatalogueTool, Failure, Operation } from './port.ts';
import { type Redactor, redactorOf } from './redaction.ts';
import type { SecretReader } from './secret-reader.ts';

/** The operation was cancelled before anything went out. */
export function cancelledBefore(tool: CatalogueTool): Failure {
  const message = `${tool.id} was cancelled before it was sent`;
  const error = new CallsheetError('CALL_CANCELLED', `${message}.`, { details: { tool: tool.id } });
  return { ending: 'notDispatched', message, error };
}

/** The effect of an operation; the most careful one where the tool's own function fails to tell. */
export function effectOf({ tool, input }: Operation): Effect {
  try {
    return tool.effectOf(input);
  } catch {
    return 'write';
  }
}

export interface ThrownFacts {
  readonly tool: CatalogueTool;
  readonly secrets: SecretReader;
  readonly ending: Failure['ending'];
  /** Which of the tool's functions threw: '`request`'. */
  readonly where: string;
  readonly code: ErrorCode;
}

/** What code of the tool's author threw, as an ending that no retry can better. */
export function thrownFailure(thrown: unknown, { tool, secrets, ending, where, code }: ThrownFacts): Failure {
  const redactor = redactorOf(secrets.used);
  if (thrown instanceof CallsheetError) {
    const error = cleanError(thrown, redactor);
    return { ending, message: error.message, error };
  }
  const message = redactor.text(`${where} of tool ${tool.id} threw: ${thrownMessage(thrown)}`);
  // Not the thrown error as `cause`: its message, stack or properties may hold a secret.
  const at = redactor.text(firstFrame(thrown));
  const error = new CallsheetError(code, message, {
    details: { tool: tool.id, ...(at === '' ? {} : { at }) },
    next: [`Mend ${where} in the definition of ${tool.id} and run again.`],
  });
  return { ending, message, error };
}

/** An error of ours as it is, or a copy without the secrets that the author's code put into it. */
function cleanError(error: CallsheetError, redactor: Redactor): CallsheetError {
  const said = `${error.message}\n${JSON.stringify(error.details)}\n${error.next.join('\n')}\n${error.stack ?? ''}`;
  if (error.cause === undefined && redactor.text(said) === said) return error;
  const next = error.next.map((step) => redactor.text(step));
  return new CallsheetError(error.code, redactor.text(error.message), { retryable: error.retryable, next });
}

export function thrownMessage(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message;
  const message = (thrown as { message?: unknown } | null | undefined)?.message;
  if (typeof message === 'string') return message;
  try {
    return String(thrown);
  } catch {
    return `a ${typeof thrown}`;
  }
}

function firstFrame(thrown: unknown): string {
  if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return '';
  const frame = thrown.stack.split('\n').find((line) => line.trimStart().startsWith('at '));
  return frame?.trim().slice(3) ?? '';
}
