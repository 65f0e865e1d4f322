import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Rescue } from '../call/index.ts';
import type { Chance } from '../scope/index.ts';
import type { NewReceipt } from '../store/index.ts';
import { HEAD_BYTES, headOf, nonceIn, recordOf, recordsIn } from './rescue-format.ts';
import { isOwnFolder, type RescuePlaces } from './rescue-places.ts';

const ROOM_BYTES = 1024 * 1024;
/** Any byte but zero: a file of zeros may be stored as a hole, which a full disk could not fill. */
const FILLER = '.';

/**
 * Keeps paid answers that the store cannot take.
 *
 * Owns: `.callsheet/rescue/<run>`, written whole when an attempt starts, so that a full disk has room for its answers.
 * Does not own: the way back into the store (rescue-import).
 *
 * Invariants
 *  1. An answer is on disk when `save` returns, in a file that its path still names then, or was told to somebody.
 *  2. A file has one writer: the one whose word is in its head. Whoever takes it over changes the word before it looks
 *     for records, and a writer looks for its word after it has written.
 *  3. A file with answers in it is removed by the import only.
 */
export class RescueFiles implements Rescue {
  readonly #places: RescuePlaces;
  readonly #nonce: string;
  readonly #tell: (line: string) => void;
  #files = 0;

  /** @param tell where an answer goes that no disk takes: standard error */
  constructor(places: RescuePlaces, parts: { readonly chance: Chance; readonly tell: (line: string) => void }) {
    this.#places = places;
    this.#nonce = Buffer.from(parts.chance.bytes(16)).toString('hex');
    this.#tell = parts.tell;
  }

  async prepare(runId: string): Promise<void> {
    const path = join(this.#places.dir, runId);
    try {
      mkdirSync(this.#places.dir, { recursive: true, mode: 0o700 });
      if (!(await takenOver(path, this.#nonce))) await makeRoom(path, this.#nonce);
    } catch {
      // There is no room already: answers go elsewhere, if it comes to that.
    }
  }

  release(runId: string): void {
    const path = join(this.#places.dir, runId);
    try {
      const file = readFileSync(path);
      if (nonceIn(file) === this.#nonce && recordsIn(file).answers.length === 0) unlinkSync(path);
    } catch {
      // It was never made, or the import has taken it.
    }
  }

  save(runId: string, receipt: NewReceipt, parts: readonly NewReceipt[] = []): string {
    const answer = { runId, receipt, ...(parts.length === 0 ? {} : { parts }) };
    const record = recordOf(answer);
    const path = join(this.#places.dir, runId);
    if (succeeds(() => writeInPlace(path, { nonce: this.#nonce, record }))) return `in ${path}`;
    const name = `${runId}-${this.#nonce}-${++this.#files}`;
    for (const dir of [this.#places.dir, this.#places.temp])
      if (succeeds(() => writeNew(dir, { name, content: Buffer.concat([headOf(this.#nonce), record]) })))
        return `in ${join(dir, name)}`;
    this.#tell(`A paid answer that could be stored nowhere: ${JSON.stringify(answer)}`);
    return 'on standard error only';
  }
}

function succeeds(write: () => boolean): boolean {
  try {
    return write();
  } catch {
    return false;
  }
}

/** Puts our word into the head of a file that is there; false where there is none. */
async function takenOver(path: string, nonce: string): Promise<boolean> {
  const file = await open(path, 'r+').catch(() => undefined);
  if (file === undefined) return false;
  try {
    await file.write(headOf(nonce), 0, HEAD_BYTES, 0);
    await file.sync();
    return true;
  } finally {
    await file.close();
  }
}

async function makeRoom(path: string, nonce: string): Promise<void> {
  const content = Buffer.alloc(ROOM_BYTES, FILLER);
  headOf(nonce).copy(content);
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } catch (error) {
    await unlink(path);
    throw error;
  } finally {
    await file.close();
  }
}

/** Writes a file that must not exist; none is left where it does not fit. */
function writeWhole(path: string, content: Buffer): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(file, content, at);
    fsyncSync(file);
  } catch (error) {
    unlinkSync(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

/** False where the file is not ours, has no room left, or was taken from under our hands. */
function writeInPlace(path: string, { nonce, record }: { readonly nonce: string; readonly record: Buffer }): boolean {
  const before = readFileSync(path);
  const { end } = recordsIn(before);
  if (nonceIn(before) !== nonce || end + record.length > before.length) return false;
  const file = openSync(path, 'r+');
  try {
    for (let at = 0; at < record.length; ) at += writeSync(file, record, at, record.length - at, end + at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  const after = readFileSync(path);
  return nonceIn(after) === nonce && after.subarray(end, end + record.length).equals(record);
}

function writeNew(dir: string, { name, content }: { readonly name: string; readonly content: Buffer }): boolean {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Others may write to the system's temporary folder.
  if (!isOwnFolder(dir)) return false;
  writeWhole(join(dir, name), content);
  syncFolder(dir);
  return true;
}

/** A new name is durable once its folder is; some systems can't say so of folders. */
function syncFolder(dir: string): void {
  try {
    const folder = openSync(dir, 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch {
    // The file itself is on disk.
  }
}
