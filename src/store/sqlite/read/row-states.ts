import { rowState } from '../codes.ts';
import { endOf, inPieces, type Reader } from '../reader.ts';

/** One JSON text for thousands of rows, which is far quicker than a row each: where the row is, times four, plus its state. */
const STATES = 'SELECT json_group_array((place - ?) * 4 + state) AS states FROM rows WHERE place >= ? AND place < ?';
const COUNTS =
  'SELECT state, count(*) AS count, total(credits) AS credits FROM rows WHERE place >= ? AND place < ? GROUP BY state';

/** One byte a row of [from, to): 0 where there is no record, else the state's number. */
export async function rowStates(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number; readonly from: number; readonly to: number },
): Promise<Uint8Array> {
  const states = new Uint8Array(Math.max(0, of.to - of.from));
  const start = await reader.read(() => reader.spaces.start(of.runNo, of.datasetNo));
  if (start === undefined) return states;
  const range = { from: start + of.from, to: start + of.to };
  const to = await reader.read(() => endOf(reader, 'rows', range));
  await inPieces(reader, { from: range.from, to }, (from, end) => {
    const packed: number[] = JSON.parse(
      reader.db.get<{ states: string }>(STATES, range.from, from, end)?.states ?? '[]',
    );
    for (const each of packed) states[Math.floor(each / 4)] = each % 4;
  });
  return states;
}

export async function rowCounts(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number },
): Promise<{ completed: number; failed: number; parked: number; credits: number }> {
  const counts = { completed: 0, failed: 0, parked: 0, credits: 0 };
  const spaces = await reader.read(() => reader.spaces.ofRun(of.runNo));
  const space = spaces.find((candidate) => candidate.datasetNo === of.datasetNo);
  if (space === undefined) return counts;
  const to = await reader.read(() => endOf(reader, 'rows', { from: space.start, to: space.end }));
  await inPieces(reader, { from: space.start, to }, (from, end) => {
    for (const row of reader.db.all<{ state: number; count: number; credits: number }>(COUNTS, from, end)) {
      counts[rowState.name(row.state)] += row.count;
      counts.credits += row.credits;
    }
  });
  return counts;
}
