import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { CallsheetError, JsonValue } from '../sdk/index.ts';
import { errorCode } from './source.ts';
import { OFFSETS_FILE, ROWS_FILE, ROWS_PER_OFFSET } from './spool.ts';
import { readMeta, type StoredShape, stagedMissing } from './staged.ts';
import type { Row, StagedFile } from './types.ts';

/** Larger reads are slower: their rows outlive the youngest generation of the collector. */
const READ_BYTES = 64 * 1024;
const CHUNK_ROWS = 256;
const LF = 10;

export interface ReadStagedOptions {
  readonly filesDir: string;
  /** First row, from 0. */
  readonly from?: number;
  /** The row before which to stop; without it, the end. */
  readonly to?: number;
}

/**
 * The rows [from, to) of a staged file, in order, in chunks of up to 256 rows and about 64 KiB: a promise for each row
 * would cost more than the row. Memory: one chunk, or one row if that is larger. Every row of a table has all columns of the
 * header; a row of a JSON file has the keys of its object. Throws STAGED_FILE_MISSING.
 */
export async function* readStaged(
  staged: Pick<StagedFile, 'digest'>,
  options: ReadStagedOptions,
): AsyncGenerator<readonly Row[]> {
  const { filesDir } = options;
  const { digest } = staged;
  const { shape, dataBytes, file } = await readMeta(filesDir, digest);
  const from = Math.max(0, options.from ?? 0);
  const to = Math.min(file.rows, options.to ?? file.rows);
  if (from >= to) return;
  const damaged = (why: string): CallsheetError => stagedMissing(filesDir, digest, why);
  const range = await byteRange(join(filesDir, digest, OFFSETS_FILE), { from, to, dataBytes }, damaged);
  const toRows = rowMaker(shape, file.header);
  let at = from - (from % ROWS_PER_OFFSET);
  const handle = await openPart(join(filesDir, digest, ROWS_FILE), damaged);
  try {
    for await (const lines of wholeLines(handle, range, damaged)) {
      const parsed = parseLines(lines, damaged);
      const wanted =
        at < from || at + parsed.length > to ? parsed.slice(Math.max(0, from - at), Math.max(0, to - at)) : parsed;
      at += parsed.length;
      for (let i = 0; i < wanted.length; i += CHUNK_ROWS) yield toRows(wanted.slice(i, i + CHUNK_ROWS));
      if (at >= to) break;
    }
  } finally {
    await handle.close();
  }
  if (at < to) throw damaged(`it ends at row ${at} of ${file.rows}`);
}

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** From the indexed row at or before `from` to the one at or after `to`. */
async function byteRange(
  path: string,
  { from, to, dataBytes }: { readonly from: number; readonly to: number; readonly dataBytes: number },
  damaged: (why: string) => CallsheetError,
): Promise<ByteRange> {
  const handle = await openPart(path, damaged);
  try {
    const offsetOf = async (lot: number): Promise<number | undefined> => {
      const cell = new Float64Array(1);
      const { bytesRead } = await handle.read(new DataView(cell.buffer), 0, 8, lot * 8);
      return bytesRead === 8 ? cell[0] : undefined;
    };
    const start = await offsetOf(Math.floor(from / ROWS_PER_OFFSET));
    const end = (await offsetOf(Math.ceil(to / ROWS_PER_OFFSET))) ?? dataBytes;
    if (start === undefined || !(start >= 0 && start < end && end <= dataBytes)) throw damaged('its index is damaged');
    return { start, end };
  } finally {
    await handle.close();
  }
}

async function openPart(path: string, damaged: (why: string) => CallsheetError): Promise<FileHandle> {
  return await open(path, 'r').catch((cause: unknown) => {
    throw damaged(`its data cannot be opened: ${errorCode(cause) ?? 'unknown cause'}`);
  });
}

/**
 * The range in pieces that end with a line break; each is to be used before the next is asked for, as they share a buffer.
 * The buffer grows to the longest line.
 */
async function* wholeLines(
  handle: FileHandle,
  { start, end }: ByteRange,
  damaged: (why: string) => CallsheetError,
): AsyncGenerator<Buffer> {
  let buffer = Buffer.allocUnsafe(READ_BYTES);
  let kept = 0;
  for (let position = start; position < end; ) {
    if (kept === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    const room = Math.min(buffer.length - kept, end - position);
    const { bytesRead } = await handle.read(buffer, kept, room, position);
    if (bytesRead === 0) throw damaged(`it ends at byte ${position} of ${end}`);
    position += bytesRead;
    const filled = kept + bytesRead;
    const last = buffer.subarray(kept, filled).lastIndexOf(LF) + kept;
    if (last < kept) {
      kept = filled;
      continue;
    }
    yield buffer.subarray(0, last + 1);
    buffer.copy(buffer, 0, last + 1, filled);
    kept = filled - last - 1;
  }
  if (kept > 0) throw damaged('its last row is cut off');
}

/** JSON has no line break within a stored row, so one parse of all lines does, at half the price of one parse for each. */
function parseLines(lines: Buffer, damaged: (why: string) => CallsheetError): JsonValue[] {
  const text = lines.toString('utf8', 0, lines.length - 1);
  try {
    return JSON.parse(`[${text.replaceAll('\n', ',')}]`);
  } catch {
    throw damaged('a row of it is no JSON');
  }
}

function rowMaker(shape: StoredShape, header: readonly string[]): (stored: readonly JsonValue[]) => Row[] {
  if (shape === 'objects') return (stored) => stored as unknown as Row[];
  return (stored) => stored.map((cells) => rowOf(header, cells as readonly JsonValue[]));
}

function rowOf(header: readonly string[], cells: readonly JsonValue[]): Row {
  const row: Record<string, JsonValue> = {};
  for (let i = 0; i < header.length; i++) row[header[i] ?? ''] = cells[i] ?? '';
  return row;
}
