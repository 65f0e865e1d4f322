import type { Reader } from '../reader.ts';

interface ChunkRow {
  readonly place: number;
  readonly row_count: number;
  readonly keys: Uint8Array;
  readonly repeats: Uint8Array | null;
}

const KEY_BYTES = 16;
/** The chunk that holds the first row wanted begins at or before it. */
const CHUNKS = `SELECT place, row_count, keys, repeats FROM frame_chunks
  WHERE place >= coalesce((SELECT max(place) FROM frame_chunks WHERE place <= ? AND place >= ?), ?) AND place < ?
  ORDER BY place`;

/** Key digests and repeats of rows [from, to), or up to the last row admitted so far. */
export function frameChunk(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number; readonly from: number; readonly to: number },
): Promise<{ readonly keys: Uint8Array; readonly repeats: Int32Array }> {
  return reader.read(() => {
    const start = reader.spaces.start(of.runNo, of.datasetNo);
    const first = (start ?? 0) + of.from;
    const chunks = start === undefined ? [] : reader.db.all<ChunkRow>(CHUNKS, first, start, first, start + of.to);
    const last = chunks.at(-1);
    const end = last === undefined ? first : Math.min(first + of.to - of.from, last.place + last.row_count);
    const count = Math.max(0, end - first);
    const keys = new Uint8Array(count * KEY_BYTES);
    const repeats = new Int32Array(count).fill(-1);
    for (const chunk of chunks) {
      // Rows [skip, until) of the chunk are wanted.
      const skip = Math.max(0, first - chunk.place);
      const until = Math.min(chunk.row_count, end - chunk.place);
      if (skip >= until) continue;
      const at = chunk.place + skip - first;
      keys.set(chunk.keys.subarray(skip * KEY_BYTES, until * KEY_BYTES), at * KEY_BYTES);
      if (chunk.repeats === null) continue;
      // Copied, since a view of 32-bit integers must be aligned.
      const bytes = chunk.repeats.slice(skip * 4, until * 4);
      repeats.set(new Int32Array(bytes.buffer, 0, until - skip), at);
    }
    return { keys, repeats };
  });
}
