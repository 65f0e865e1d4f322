import { CallsheetError, type ErrorCode } from '../../sdk/index.ts';

/** Primary result codes: https://www.sqlite.org/rescode.html */
const BUSY = 5;
const READ_ONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;
const PERMISSION = 3;
/** Extended: a file that may not grow (EFBIG, a quota) reports these, a full disk (ENOSPC) is FULL already. */
const IO_WRITE = IO_ERROR | (3 << 8);
const IO_SHARED_MEMORY_SIZE = IO_ERROR | (19 << 8);

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

/** True where another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  return ((resultCode(error) ?? 0) & 0xff) === BUSY;
}

/** True where another process did not let go of the lock. */
export function isHeld(error: unknown): boolean {
  return error instanceof CallsheetError && error.code === 'STORE_HELD';
}

/** True where trying single units of a failed group cannot do better than the group did. */
export function isHopeless(error: unknown): boolean {
  if (isHeld(error)) return true;
  return error instanceof CallsheetError && (error.code === 'STORE_READ_ONLY' || error.code === 'STORE_CORRUPT');
}

/** The error for a database whose lock was not to be had for `ms`. */
export function heldError(path: string, ms: number, cause: unknown): CallsheetError {
  const seconds = Math.round(ms / 1000);
  return new CallsheetError(
    'STORE_HELD',
    seconds === 0
      ? `Another process still holds the database ${path}.`
      : `Another process has held the database ${path} for more than ${seconds} s.`,
    {
      cause,
      retryable: true,
      details: { path },
      next: [
        'see which process holds it: `lsof` on the file; end it, or let it go on if it was stopped (`kill -CONT <pid>`)',
        'then `callsheet runs resume <run>`',
      ],
    },
  );
}

/** Turns an error of SQLite or of the file system into ours; any other error is returned as it is. */
export function storeError(error: unknown, path: string): unknown {
  const system = error instanceof Error && 'code' in error ? error.code : undefined;
  if (system === 'EACCES' || system === 'EPERM' || system === 'EROFS') return readOnly(path, error);
  if (system === 'ENOSPC' || system === 'EFBIG' || system === 'EDQUOT') return full(path, error);
  const code = resultCode(error);
  if (code === undefined) return error;
  if (code === IO_WRITE || code === IO_SHARED_MEMORY_SIZE) return full(path, error);
  switch (code & 0xff) {
    case FULL:
      return full(path, error);
    case READ_ONLY:
    case CANNOT_OPEN:
    case PERMISSION:
      return readOnly(path, error);
    case CORRUPT:
    case NOT_A_DATABASE:
      return corrupt(path, (error as Error).message, error);
    case BUSY:
      return heldError(path, 0, error);
    default:
      return wrapped('STORE_FAILED', `The database ${path} refused a statement: ${(error as Error).message}.`, {
        path,
        cause: error,
        next: ['if it happens again, keep a copy of the workspace folder and report the message'],
      });
  }
}

/** The error for a file that is damaged or not a database of ours. `why` completes "…: ". */
export function corrupt(path: string, why: string, cause?: unknown): CallsheetError {
  return wrapped('STORE_CORRUPT', `The database ${path} cannot be used: ${why}.`, {
    path,
    cause,
    next: [
      'put back a copy of the workspace folder',
      `or move ${path} and its -wal and -shm files away and start anew; receipts in it will be bought again`,
    ],
  });
}

function full(path: string, cause: unknown): CallsheetError {
  return wrapped('STORE_FULL', `The database ${path} cannot grow: the disk is full, or a file size limit is reached.`, {
    path,
    cause,
    next: ['make room on the disk, then `callsheet runs resume <run>`'],
  });
}

function readOnly(path: string, cause: unknown): CallsheetError {
  return wrapped('STORE_READ_ONLY', `The database ${path} or its folder cannot be written.`, {
    path,
    cause,
    next: ['give your user write permission on the file and its folder'],
  });
}

function wrapped(
  code: ErrorCode,
  message: string,
  options: { path: string; cause: unknown; next: readonly string[] },
): CallsheetError {
  return new CallsheetError(code, message, {
    cause: options.cause,
    retryable: code === 'STORE_FULL',
    details: { path: options.path },
    next: options.next,
  });
}
