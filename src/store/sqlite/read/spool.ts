import type { JsonText } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { ROW_SEPARATOR } from '../write/insert-spool.ts';

const CHUNKS = `SELECT place, rows FROM spool
  WHERE place >= coalesce((SELECT max(place) FROM spool WHERE place <= ? AND place >= ?), ?) AND place < ?
  ORDER BY place`;

/** Source rows [from, to), or up to the last one spooled so far. */
export function spool(
  reader: Reader,
  of: { readonly runNo: number; readonly datasetNo: number; readonly from: number; readonly to: number },
): Promise<readonly JsonText[]> {
  return reader.read(() => {
    const start = reader.spaces.start(of.runNo, of.datasetNo);
    if (start === undefined) return [];
    const first = start + of.from;
    const found: JsonText[] = [];
    for (const chunk of reader.db.all<{ place: number; rows: string }>(CHUNKS, first, start, first, start + of.to))
      found.push(
        ...chunk.rows.split(ROW_SEPARATOR).slice(Math.max(0, first - chunk.place), start + of.to - chunk.place),
      );
    return found;
  });
}
