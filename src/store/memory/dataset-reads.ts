import { addLegCounts, legCountsInOrder } from '../leg-counts.ts';
import type { DatasetReads, LegCounts } from '../port.ts';
import type { RowRecord } from '../records.ts';
import type { MemoryData } from './data.ts';

const KEY_BYTES = 16;
const ROWS_AT_ONCE = 1_000;
const STATE_NUMBER = { completed: 1, failed: 2, parked: 3 } as const;

export function datasetReads(data: MemoryData): DatasetReads {
  return {
    frames: async (runNo) =>
      data
        .spaces(runNo)
        .map((space) => space.frame)
        .filter((frame) => frame !== undefined),
    frameChunk: async (runNo, datasetNo, ...[from, to]) => frameChunk(data, { runNo, datasetNo, from, to }),
    spool: async (runNo, datasetNo, ...[from, to]) => {
      const found: string[] = [];
      for (const [first, rows] of inOrder(data.space(runNo, datasetNo).spool))
        found.push(...rows.slice(Math.max(0, from - first), Math.max(0, to - first)));
      return found;
    },
    rows: async (runNo, datasetNo, range) => {
      const found: RowRecord[] = [];
      let bytes = 0;
      for (const [ordinal, row] of inOrder(data.space(runNo, datasetNo).rows)) {
        if (ordinal < range.from || ordinal >= range.to) continue;
        bytes += Buffer.byteLength(row.cells) + Buffer.byteLength(row.error ?? '') + Buffer.byteLength(row.trace ?? '');
        if (found.length === ROWS_AT_ONCE || (found.length > 0 && bytes > range.maxBytes)) break;
        found.push(row);
      }
      return found;
    },
    rowStates: async (runNo, datasetNo, ...[from, to]) => {
      const states = new Uint8Array(Math.max(0, to - from));
      for (const row of data.space(runNo, datasetNo).rows.values())
        if (row.ordinal >= from && row.ordinal < to) states[row.ordinal - from] = STATE_NUMBER[row.state];
      return states;
    },
    rowCounts: async (runNo, datasetNo) => {
      const counts = { completed: 0, failed: 0, parked: 0, credits: 0 };
      for (const row of data.space(runNo, datasetNo).rows.values()) {
        counts[row.state]++;
        counts.credits += row.credits;
      }
      return counts;
    },
    legCounts: async (runNo, datasetNo) => legCounts(data.space(runNo, datasetNo).rows.values()),
    previousFrame: async (play, datasetKey, beforeRunNo) => {
      for (const run of data.runs.slice(0, Math.max(0, beforeRunNo - 1)).reverse()) {
        if (run.play !== play) continue;
        const frame = data
          .spaces(run.no)
          .map((space) => space.frame)
          .findLast((candidate) => candidate?.key === datasetKey && candidate.sealed);
        if (frame !== undefined) return { runNo: run.no, frame };
      }
      return undefined;
    },
  };
}

function legCounts(rows: Iterable<RowRecord>): readonly LegCounts[] {
  const counts = new Map<string, LegCounts>();
  for (const { state, trace, cells, credits } of rows)
    if (state !== 'parked') addLegCounts(counts, { state, legs: lettersOf(trace, cells), rows: 1, credits });
  return legCountsInOrder(counts);
}

function lettersOf(trace: string | null, cells: string): string {
  if (trace === null) return (JSON.parse(cells) as unknown[]).map((cell) => (cell === null ? 'm' : 'h')).join('');
  const told = JSON.parse(trace) as string | { readonly legs: string };
  return typeof told === 'string' ? told : told.legs;
}

function frameChunk(
  data: MemoryData,
  of: { readonly runNo: number; readonly datasetNo: number; readonly from: number; readonly to: number },
): { keys: Uint8Array; repeats: Int32Array } {
  const chunks = inOrder(data.space(of.runNo, of.datasetNo).chunks);
  const end = chunks.reduce((last, [first, chunk]) => Math.max(last, first + chunk.repeats.length), 0);
  const count = Math.max(0, Math.min(of.to, end) - of.from);
  const keys = new Uint8Array(count * KEY_BYTES);
  const repeats = new Int32Array(count).fill(-1);
  for (const [first, chunk] of chunks)
    for (let at = 0; at < chunk.repeats.length; at++) {
      const to = first + at - of.from;
      if (to < 0 || to >= count) continue;
      keys.set(chunk.keys.subarray(at * KEY_BYTES, (at + 1) * KEY_BYTES), to * KEY_BYTES);
      repeats[to] = chunk.repeats[at] ?? -1;
    }
  return { keys, repeats };
}

function inOrder<Value>(map: ReadonlyMap<number, Value>): readonly (readonly [number, Value])[] {
  return [...map].sort(([a], [b]) => a - b);
}
