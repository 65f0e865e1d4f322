import { endOf, inPieces, type Reader } from '../reader.ts';

/** A run that ended before can have no later call. */
const RUNS = 'SELECT no FROM runs WHERE started_at IS NOT NULL AND (finished_at IS NULL OR finished_at >= ?)';
const SUM = 'SELECT total(credits) AS credits FROM calls WHERE place >= ? AND place < ? AND at >= ?';

/** Credits that the journals of all runs have settled from `at` on. */
export async function creditsSince(reader: Reader, at: number): Promise<number> {
  let credits = 0;
  for (const run of await reader.read(() => reader.db.all<{ no: number }>(RUNS, at)))
    for (const space of await reader.read(() => reader.spaces.ofRun(run.no))) {
      const to = await reader.read(() => endOf(reader, 'calls', { from: space.start, to: space.end }));
      await inPieces(reader, { from: space.start, to }, (from, end) => {
        credits += reader.db.get<{ credits: number }>(SUM, from, end, at)?.credits ?? 0;
      });
    }
  return credits;
}
