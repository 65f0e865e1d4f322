import { addLegCounts, legCountsInOrder } from '../../leg-counts.ts';
import type { LegCounts } from '../../port.ts';
import { rowState } from '../codes.ts';
import { endOf, inPieces, type Reader } from '../reader.ts';

/** A trace is a JSON text of letters, or an object with errors beside them. */
const LETTERS = `CASE
    WHEN trace IS NULL THEN (SELECT group_concat(CASE type WHEN 'null' THEN 'm' ELSE 'h' END, '') FROM json_each(cells))
    WHEN json_type(trace) = 'text' THEN json_extract(trace, '$')
    ELSE json_extract(trace, '$.legs') END`;
const COUNTS = `SELECT state, ${LETTERS} AS legs, count(*) AS rows, total(credits) AS credits FROM rows
  WHERE place >= ? AND place < ? AND state <> ${rowState.number('parked')} GROUP BY state, legs`;

interface CountsRow {
  readonly state: number;
  readonly legs: string | null;
  readonly rows: number;
  readonly credits: number;
}

/** Finished rows by how their legs ended. */
export async function legCounts(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number },
): Promise<readonly LegCounts[]> {
  const spaces = await reader.read(() => reader.spaces.ofRun(of.runNo));
  const space = spaces.find((candidate) => candidate.datasetNo === of.datasetNo);
  if (space === undefined) return [];
  const counts = new Map<string, LegCounts>();
  const to = await reader.read(() => endOf(reader, 'rows', { from: space.start, to: space.end }));
  await inPieces(reader, { from: space.start, to }, (from, end) => {
    for (const row of reader.db.all<CountsRow>(COUNTS, from, end)) {
      const state = row.state === rowState.number('completed') ? 'completed' : 'failed';
      addLegCounts(counts, { state, legs: row.legs ?? '', rows: row.rows, credits: row.credits });
    }
  });
  return legCountsInOrder(counts);
}
