import type { Frame } from './frame-rows.ts';
import { RUNS } from './frame-rows.ts';
import type { RowStream } from './handle.ts';
import { joinedPieces } from './joined.ts';
import { readCells } from './record.ts';

const SCAN_ROWS = 65_536;

/** The rows of a finished dataset: admitted rows only, each with its derived cells (null where a failed row has none). */
export function resultStream(frame: Frame): RowStream {
  return {
    count: async () => frame.record.admitted,
    rows: (from, limit) => resultRows(frame, from, limit),
  };
}

async function* resultRows(frame: Frame, from: number, limit: number): AsyncGenerator<readonly unknown[]> {
  const names = frame.plan.columns.map((column) => column.name);
  const { total, admitted } = frame.record;
  const start = await ordinalOf(frame, from);
  // Where no row is skipped, places are ordinals and nothing beyond the limit is read.
  const end = total === admitted ? Math.min(total, start + limit) : total;
  let left = Math.min(limit, admitted - from);
  for await (const { slice, from: first, to, record } of joinedPieces(frame, { from: start, to: end })) {
    const rows: unknown[] = [];
    for (let index = first; index < to && left > 0; index++) {
      if (slice.repeats[index] !== RUNS) continue;
      const row = slice.row(index);
      const found = record(index);
      const cells = found === undefined ? [] : readCells(found);
      names.forEach((name, column) => {
        row[name] = cells[column] ?? null;
      });
      rows.push(row);
      left--;
    }
    if (rows.length > 0) yield rows;
    if (left <= 0) return;
  }
}

/** The ordinal of the admitted row at this place; the total where there is none. */
async function ordinalOf(frame: Frame, place: number): Promise<number> {
  const { total, admitted, datasetNo } = frame.record;
  if (place >= admitted) return total;
  if (total === admitted) return place;
  let passed = 0;
  for (let from = 0; from < total; from += SCAN_ROWS) {
    const to = Math.min(total, from + SCAN_ROWS);
    const { repeats } = await frame.reads.frameChunk(frame.runNo, datasetNo, from, to);
    for (let row = 0; row < repeats.length; row++) {
      if (repeats[row] !== RUNS) continue;
      if (passed === place) return from + row;
      passed++;
    }
  }
  return total;
}
