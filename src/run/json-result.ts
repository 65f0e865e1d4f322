import { NotJsonError, toJson } from '../scope/index.ts';
import { CallsheetError, type JsonValue, SecretLeakError } from '../sdk/index.ts';
import { findSecretHandle } from '../secrets/index.ts';

/** A value as plain JSON, or RESULT_NOT_JSON (SECRET_LEAK for a handle) with the path of what offends. */
export function asJson(value: unknown, what: string): JsonValue {
  if (value === undefined) return null;
  try {
    return toJson(value);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    refuseHandles(value, what);
    throw notJson(what, error.path, error.found);
  }
}

export function refuseHandles(value: unknown, what: string): void {
  const path = findSecretHandle(value);
  if (path === undefined) return;
  throw new SecretLeakError(
    `${what} holds a secret handle at ${path}; secrets stay inside tools and ctx.fetch's \`auth\`.`,
    {
      details: { path },
      next: ['Leave the handle out of what is returned, logged or passed on.'],
    },
  );
}

export function notJson(what: string, path: string, found: string): CallsheetError {
  return new CallsheetError('RESULT_NOT_JSON', `${what} is not JSON: ${path} is ${found}.`, {
    details: { path, found },
    next: ['Return strings, numbers, booleans, null, arrays and plain objects (a date as toISOString()).'],
  });
}
