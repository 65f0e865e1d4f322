import { type FileHandle, mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';
import { errorCode } from './source.ts';

/** One byte offset is kept for each lot of this many rows. */
export const ROWS_PER_OFFSET = 256;
export const ROWS_FILE = 'rows.jsonl';
export const OFFSETS_FILE = 'offsets.bin';
export const META_FILE = 'meta.json';

const FLUSH_BYTES = 256 * 1024;
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

/**
 * A staged copy while it is written: a folder of three files beside its final place.
 *
 * Invariants: offsets.bin holds, as 64-bit doubles, the byte offset of rows 0, 256, 512, …; nothing appears
 * under the digest's name before all three files are whole and on disk; `discard` leaves nothing.
 */
export class Spool {
  rows = 0;
  readonly #filesDir: string;
  readonly #folder: string;
  readonly #handle: FileHandle;
  #dataBytes = 0;
  #text = '';
  #rowsInText = 0;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  readonly #offsets: number[] = [];

  private constructor(filesDir: string, folder: string, handle: FileHandle) {
    this.#filesDir = filesDir;
    this.#folder = folder;
    this.#handle = handle;
  }

  static async create(filesDir: string): Promise<Spool> {
    try {
      await mkdir(filesDir, { recursive: true, mode: 0o700 });
      const folder = await mkdtemp(join(filesDir, '.staging-'));
      await removeAbandoned(filesDir, (await stat(folder)).mtimeMs);
      return new Spool(filesDir, folder, await open(join(folder, ROWS_FILE), 'wx', 0o600));
    } catch (cause) {
      throw notStaged(filesDir, cause);
    }
  }

  /** Adds JSON texts, one a row, none with a line break in it. */
  async add(lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      if (this.rows % ROWS_PER_OFFSET === 0) {
        this.#encode();
        this.#offsets.push(this.#dataBytes);
      }
      this.#text += `${line}\n`;
      this.#rowsInText++;
      this.rows++;
      if (this.#text.length >= FLUSH_BYTES) this.#encode();
      if (this.#pendingBytes >= FLUSH_BYTES) await this.#flush();
    }
  }

  /** Puts the copy in its place. Another process that staged the same content first has won, which is as good. */
  async finish(digest: string, meta: (dataBytes: number) => string): Promise<void> {
    try {
      this.#encode();
      await this.#flush();
      await this.#handle.sync();
      await this.#handle.close();
      const offsets = new Float64Array(this.#offsets);
      await writeSynced(join(this.#folder, OFFSETS_FILE), new DataView(offsets.buffer));
      await writeSynced(join(this.#folder, META_FILE), Buffer.from(meta(this.#dataBytes)));
      await syncFolder(this.#folder);
      const target = join(this.#filesDir, digest);
      await rename(this.#folder, target).catch(async (cause: unknown) => {
        const taken = errorCode(cause) === 'ENOTEMPTY' || errorCode(cause) === 'EEXIST' || errorCode(cause) === 'EPERM';
        if (!taken || !(await exists(join(target, META_FILE)))) throw cause;
        await rm(this.#folder, { recursive: true, force: true });
      });
      await syncFolder(this.#filesDir);
    } catch (cause) {
      throw notStaged(this.#filesDir, cause);
    }
  }

  async discard(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#folder, { recursive: true, force: true });
  }

  #encode(): void {
    if (this.#rowsInText === 0) return;
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    this.#rowsInText = 0;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    this.#dataBytes += bytes.length;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#handle.appendFile(bytes).catch((cause: unknown) => {
      throw notStaged(this.#filesDir, cause);
    });
  }
}

/** Copies that a killed process left half. A day old against a folder made just now: nobody stages that long. */
async function removeAbandoned(filesDir: string, now: number): Promise<void> {
  for (const name of await readdir(filesDir)) {
    if (!name.startsWith('.staging-')) continue;
    const newest = await stat(join(filesDir, name, ROWS_FILE)).catch(() => undefined);
    if (newest !== undefined && now - newest.mtimeMs > ABANDONED_AFTER_MS) {
      await rm(join(filesDir, name), { recursive: true, force: true });
    }
  }
}

async function writeSynced(path: string, content: NodeJS.ArrayBufferView): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a rename in the folder survive a power cut, where the system can. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r').catch(() => undefined);
  // Windows opens no folders, and some network file systems cannot sync them.
  await handle?.sync().catch(() => {});
  await handle?.close();
}

export async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

function notStaged(filesDir: string, cause: unknown): unknown {
  if (cause instanceof CallsheetError) return cause;
  const code = errorCode(cause) ?? 'unknown cause';
  const full = code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
  return new CallsheetError(
    full ? 'STORE_FULL' : 'STORE_READ_ONLY',
    `The copy of the input file cannot be written to ${filesDir} (${code}).`,
    {
      details: { folder: filesDir, cause: code },
      next: [full ? 'Make room on that disk and run again.' : 'Check the permissions of that folder.'],
      cause,
    },
  );
}
