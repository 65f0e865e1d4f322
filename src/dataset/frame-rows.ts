import { type Row, readStaged, rowMapper } from '../files/index.ts';
import type { DatasetReads, FrameRecord } from '../store/index.ts';
import type { FilePlan, FramePlan, SpoolPlan } from './plan.ts';

/** A sealed frame and what reading it needs: all that processing and reports know of a dataset's source. */
export interface Frame {
  readonly reads: DatasetReads;
  readonly filesDir: string;
  readonly runNo: number;
  readonly record: FrameRecord;
  readonly plan: FramePlan;
}

/** `repeats` of a row that runs; others hold the ordinal of the row they repeat. */
export const RUNS = -1;
/** `repeats` of a row whose key another run has claimed (`net_new`): it is not part of the result. */
export const NOT_ADMITTED = -2;

/** Some neighbouring rows of a frame. `row` and `bytes` take the place within the slice. */
export interface FrameSlice {
  readonly first: number;
  readonly length: number;
  readonly keys: Uint8Array;
  readonly repeats: Int32Array;
  /** The row as the code sees it: a fresh object each time. */
  row(index: number): Record<string, unknown>;
  /** The row with the source's own column names. */
  own(index: number): Record<string, unknown>;
  /** Length as JSON, roughly. */
  bytes(index: number): number;
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The rows of a range in order, in slices of about a megabyte or one row if that is larger. */
export async function* frameSlices(frame: Frame, range: Range): AsyncGenerator<FrameSlice> {
  const from = Math.max(0, range.from);
  const to = Math.min(range.to, frame.record.total);
  if (from >= to) return;
  const { source } = frame.plan;
  const slices =
    source.kind === 'file' ? fileSlices(frame, source, { from, to }) : spoolSlices(frame, source, { from, to });
  yield* slices;
}

async function* fileSlices(frame: Frame, file: FilePlan, { from, to }: Range): AsyncGenerator<FrameSlice> {
  const map = rowMapper(file.mapping);
  let first = from;
  for await (const rows of readStaged(file, { filesDir: frame.filesDir, from, to })) {
    const { keys, repeats } = await chunkOf(frame, first, rows.length);
    const own = (index: number): Record<string, unknown> => ({ ...rows[index] });
    yield {
      first,
      length: rows.length,
      keys,
      repeats,
      own,
      row: (index) => {
        const stored = rows[index];
        return stored === undefined ? {} : { ...map(stored) };
      },
      bytes: (index) => roughBytes(rows[index]),
    };
    first += rows.length;
  }
}

async function* spoolSlices(frame: Frame, spool: SpoolPlan, { from, to }: Range): AsyncGenerator<FrameSlice> {
  const { reads, runNo, record } = frame;
  for (let first = from; first < to; ) {
    const end = Math.min(to, chunkEnd(spool.starts, first));
    const texts = await reads.spool(runNo, record.datasetNo, first, end);
    const { keys, repeats } = await chunkOf(frame, first, end - first);
    const row = (index: number): Record<string, unknown> => JSON.parse(texts[index] ?? '{}') as Record<string, unknown>;
    yield {
      first,
      length: end - first,
      keys,
      repeats,
      row,
      own: row,
      bytes: (index) => texts[index]?.length ?? 0,
    };
    first = end;
  }
}

function chunkOf(
  frame: Frame,
  first: number,
  length: number,
): Promise<{ readonly keys: Uint8Array; readonly repeats: Int32Array }> {
  return frame.reads.frameChunk(frame.runNo, frame.record.datasetNo, first, first + length);
}

/** The row after the stored chunk that `ordinal` is in. */
function chunkEnd(starts: readonly number[], ordinal: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= ordinal) low = middle + 1;
    else high = middle;
  }
  return starts[low] ?? Number.POSITIVE_INFINITY;
}

/** How long a row is as JSON, near enough for a budget. */
function roughBytes(value: Row | undefined): number {
  return value === undefined ? 0 : valueBytes(value);
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 2;
  for (const name of Object.keys(value))
    bytes += name.length + 4 + valueBytes((value as Readonly<Record<string, unknown>>)[name]);
  return bytes;
}
