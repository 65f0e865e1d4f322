import type { RunReads } from '../../port.ts';
import type { Reader } from '../reader.ts';
import { ordinalOf, spaceNoSql } from '../spaces.ts';

const NEWEST = 'SELECT coalesce(max(no), 0) AS no FROM signals';
const PLACES = `SELECT DISTINCT w.place, s.dataset_no FROM waits w JOIN spaces s ON s.no = ${spaceNoSql('w.place')}
  WHERE w.run_no = ? AND w.signal_no > ? ORDER BY s.dataset_no, w.place`;

/** Where waits of the run were answered by later signals, by dataset and ordinal. */
export function answeredSince(
  reader: Reader,
  runNo: number,
  afterSignal: number,
): ReturnType<RunReads['answeredSince']> {
  return reader.read(() => {
    // Read first: a signal of another process in between is then told twice, never missed.
    const newest = reader.db.get<{ no: number }>(NEWEST)?.no ?? 0;
    const places = reader.db
      .all<{ place: number; dataset_no: number }>(PLACES, runNo, afterSignal)
      .map((row) => ({ datasetNo: row.dataset_no, ordinal: ordinalOf(row.place) }));
    return { places, newest };
  });
}
