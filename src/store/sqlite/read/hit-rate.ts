import { outcome, source } from '../codes.ts';
import { endOf, inPieces, type Reader } from '../reader.ts';

/** A forecast needs no more than the newest calls. */
const CALLS_LOOKED_AT = 200_000;
const PIECE = `SELECT count(*) AS looked_at,
  count(*) FILTER (WHERE live AND outcome = ${outcome.number('completed')}) AS completed,
  count(*) FILTER (WHERE live AND outcome = ${outcome.number('no_result')}) AS no_result
  FROM (SELECT outcome, source = ${source.number('live')} AND site_no IN (SELECT no FROM sites WHERE tool = ?) AS live
    FROM calls WHERE place >= ? AND place < ?)`;

interface Piece {
  readonly looked_at: number;
  readonly completed: number;
  readonly no_result: number;
}

/** How a tool's bought answers came out, among (at least, if there are as many) the newest 200,000 calls of all runs. */
export async function hitRate(reader: Reader, tool: string): Promise<{ completed: number; noResult: number }> {
  const rate = { completed: 0, noResult: 0 };
  let lookedAt = 0;
  for (const space of await reader.read(() => reader.spaces.newestFirst())) {
    if (lookedAt >= CALLS_LOOKED_AT) break;
    const to = await reader.read(() => endOf(reader, 'calls', { from: space.start, to: space.end }));
    await inPieces(reader, { from: space.start, to }, (from, end) => {
      const piece = reader.db.get<Piece>(PIECE, tool, from, end);
      lookedAt += piece?.looked_at ?? 0;
      rate.completed += piece?.completed ?? 0;
      rate.noResult += piece?.no_result ?? 0;
    });
  }
  return rate;
}
