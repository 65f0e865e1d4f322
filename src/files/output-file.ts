import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';
import { errorCode } from './source.ts';
import { syncFolder } from './spool.ts';

const FLUSH_CHARS = 256 * 1024;

/**
 * A text file that appears under its name whole or not at all.
 *
 * Invariants: everything goes to a temporary file in the same folder; only `close` renames it, after it is on disk;
 * `abort` and every failure remove it; texts are written in the order of `add` calls, awaited or not.
 */
export class OutputFile {
  readonly path: string;
  readonly #target: string;
  readonly #temporary: string;
  readonly #handle: FileHandle;
  #text = '';
  #tail: Promise<void> = Promise.resolve();
  #state: 'open' | 'closed' | 'aborted' = 'open';

  private constructor(path: string, target: string, temporary: { readonly path: string; readonly handle: FileHandle }) {
    this.path = path;
    this.#target = target;
    this.#temporary = temporary.path;
    this.#handle = temporary.handle;
  }

  /** Throws OUTPUT_IS_INPUT, OUTPUT_FOLDER_MISSING, OUTPUT_NOT_WRITABLE, before anything is written. */
  static async create(path: string, inputPaths: readonly string[]): Promise<OutputFile> {
    const there = await stat(path).catch(() => undefined);
    await assertFolder(path);
    if (there !== undefined && !there.isFile()) {
      throw notWritable(path, there.isDirectory() ? 'it is a folder' : 'it is not a regular file');
    }
    await assertNoInput(path, there, inputPaths);
    // Through a link, so that the file it points to is replaced and not the link.
    const target = there === undefined ? resolve(path) : await realpath(path);
    const temporary = join(dirname(target), `.${basename(target).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`);
    const mode = there === undefined ? 0o600 : there.mode & 0o777;
    const handle = await open(temporary, 'wx', mode).catch((cause: unknown) => {
      throw notWritable(path, errorCode(cause) ?? 'unknown cause', cause);
    });
    return new OutputFile(path, target, { path: temporary, handle });
  }

  /** Returns a promise when enough has gathered to be written: await it before adding more, and memory stays bounded. */
  add(text: string): Promise<void> | undefined {
    if (this.#state !== 'open') throw new CallsheetError('INTERNAL', `${this.path} was written to after its end.`);
    this.#text += text;
    return this.#text.length >= FLUSH_CHARS ? this.#flush() : undefined;
  }

  async close(): Promise<void> {
    if (this.#state !== 'open') throw new CallsheetError('INTERNAL', `${this.path} was closed twice.`);
    try {
      await this.#flush();
      await this.#handle.sync();
      await this.#handle.close();
      await rename(this.#temporary, this.#target);
      this.#state = 'closed';
    } catch (cause) {
      await this.abort();
      throw this.#failure(cause);
    }
    await syncFolder(dirname(this.#target));
  }

  /** Removes what was written. Does nothing after `close`. */
  async abort(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'aborted';
    this.#text = '';
    await this.#tail.catch(() => {});
    await this.#handle.close().catch(() => {});
    await rm(this.#temporary, { force: true });
  }

  #flush(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    const written = this.#tail.then(() => this.#handle.appendFile(text));
    this.#tail = written.catch((cause: unknown) => {
      throw this.#failure(cause);
    });
    // A failure reaches whoever awaits this flush or the next; unawaited, it must not end the process.
    this.#tail.catch(() => {});
    return this.#tail;
  }

  #failure(cause: unknown): unknown {
    return cause instanceof CallsheetError ? cause : notWritable(this.path, errorCode(cause) ?? 'unknown cause', cause);
  }
}

async function assertFolder(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  const there = await stat(folder).catch(() => undefined);
  if (there?.isDirectory()) return;
  throw new CallsheetError('OUTPUT_FOLDER_MISSING', `The folder ${folder} of the output does not exist.`, {
    details: { path, folder },
    next: [`mkdir -p ${JSON.stringify(folder)}`],
  });
}

async function assertNoInput(path: string, there: Stats | undefined, inputPaths: readonly string[]): Promise<void> {
  for (const input of inputPaths) {
    const other = await stat(input).catch(() => undefined);
    // Inodes see through links of both kinds; paths also catch an input that is gone by now.
    const sameFile = there !== undefined && other !== undefined && there.dev === other.dev && there.ino === other.ino;
    if (!sameFile && (await realPathOf(path)) !== (await realPathOf(input))) continue;
    throw new CallsheetError('OUTPUT_IS_INPUT', `${path} is an input file of the run and is not overwritten.`, {
      details: { path, input },
      next: ['Name another output file.'],
    });
  }
}

async function realPathOf(path: string): Promise<string> {
  const full = resolve(path);
  return await realpath(full).catch(async () =>
    join(await realpath(dirname(full)).catch(() => dirname(full)), basename(full)),
  );
}

function notWritable(path: string, why: string, cause?: unknown): CallsheetError {
  const full = why === 'ENOSPC' || why === 'EDQUOT' || why === 'EFBIG';
  return new CallsheetError('OUTPUT_NOT_WRITABLE', `${path} cannot be written: ${why}.`, {
    details: { path, cause: why },
    next: [
      full ? 'Make room on that disk, or name a file on another.' : 'Check permissions, or name another output file.',
    ],
    ...(cause === undefined ? {} : { cause }),
  });
}
