import { endOf, inPieces, type Reader } from '../reader.ts';

const SUM = 'SELECT total(credits) AS credits FROM calls WHERE place >= ? AND place < ?';

/** Credits of all entries in the run's journal. */
export async function settledCredits(reader: Reader, runNo: number): Promise<number> {
  let credits = 0;
  for (const space of await reader.read(() => reader.spaces.ofRun(runNo))) {
    const to = await reader.read(() => endOf(reader, 'calls', { from: space.start, to: space.end }));
    await inPieces(reader, { from: space.start, to }, (from, end) => {
      credits += reader.db.get<{ credits: number }>(SUM, from, end)?.credits ?? 0;
    });
  }
  return credits;
}
