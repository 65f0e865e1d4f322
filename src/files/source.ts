import type { Stats } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nearestNames } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';

const CHUNK_BYTES = 64 * 1024;

/** An input file, open for the two passes over it. */
export interface SourceFile {
  readonly path: string;
  readonly bytes: number;
  /** The whole file from its start, in pieces of up to 64 KiB that may be kept. Each call is a pass of its own. */
  chunks(): AsyncGenerator<Buffer>;
  /** The same in one buffer that is filled anew for each piece. */
  passingChunks(): AsyncGenerator<Buffer>;
  /** Throws if the file was changed since it was opened: two passes must have seen the same bytes. */
  assertUnchanged(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a regular file for reading.
 * Throws FILE_NOT_FOUND (with the nearest names in that folder), FILE_UNREADABLE, FILE_EMPTY.
 */
export async function openSource(path: string): Promise<SourceFile> {
  const handle = await openForReading(path);
  try {
    const opened = await handle.stat();
    assertRegular(path, opened);
    if (opened.size === 0) throw emptyFile(path);
    return {
      path,
      bytes: opened.size,
      chunks: () => readChunks(handle, path, () => Buffer.allocUnsafe(CHUNK_BYTES)),
      passingChunks() {
        const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
        return readChunks(handle, path, () => buffer);
      },
      async assertUnchanged() {
        const now = await handle.stat();
        if (now.size === opened.size && now.mtimeMs === opened.mtimeMs) return;
        throw new CallsheetError('FILE_MALFORMED', `${path} was changed while it was being read.`, {
          details: { file: path },
          next: ['Run again when nothing writes to the file any more.'],
        });
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The error for a file with nothing in it. */
export function emptyFile(path: string): CallsheetError {
  return new CallsheetError('FILE_EMPTY', `${path} is empty.`, {
    details: { file: path },
    next: ['Check the export that made the file; a file with a header and no rows would be accepted.'],
  });
}

async function* readChunks(handle: FileHandle, path: string, bufferOf: () => Buffer): AsyncGenerator<Buffer> {
  let position = 0;
  for (;;) {
    const buffer = bufferOf();
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position).catch((cause: unknown) => {
      throw unreadable(path, cause);
    });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function openForReading(path: string): Promise<FileHandle> {
  if (path === '' || path.includes('\0')) throw await notFound(path);
  try {
    // Looked at before it is opened: opening a pipe waits until somebody writes to it.
    assertRegular(path, await stat(path));
    return await open(path, 'r');
  } catch (cause) {
    if (cause instanceof CallsheetError) throw cause;
    const code = errorCode(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') throw await notFound(path);
    throw unreadable(path, cause);
  }
}

function assertRegular(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  const folder = stats.isDirectory();
  throw new CallsheetError('FILE_UNREADABLE', `${path} is ${folder ? 'a folder' : 'not a regular file'}.`, {
    details: { file: path },
    next: [folder ? 'Name a file in that folder.' : 'Save the data to a file and name that.'],
  });
}

async function notFound(path: string): Promise<CallsheetError> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => undefined);
  const near = names === undefined ? [] : nearestNames(basename(path), names);
  const next =
    names === undefined
      ? [`The folder ${folder} cannot be read; check the path.`]
      : near.length > 0
        ? near.map((name) => `Did you mean ${join(folder, name)}?`)
        : [`Nothing in ${folder} has a similar name; check the path.`];
  return new CallsheetError('FILE_NOT_FOUND', `There is no file ${JSON.stringify(path)}.`, {
    details: { file: path, nearest: near },
    next,
  });
}

function unreadable(path: string, cause: unknown): CallsheetError {
  return new CallsheetError('FILE_UNREADABLE', `${path} cannot be read (${errorCode(cause) ?? 'unknown cause'}).`, {
    details: { file: path, cause: errorCode(cause) ?? null },
    next: ['Check the permissions of the file and of its folder.'],
    cause,
  });
}

/** The system's code of a failed file operation, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
