import type { RunEvent } from '../../records.ts';
import type { Reader } from '../reader.ts';

interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly level: string;
  readonly dataset_no: number | null;
  readonly ordinal: number | null;
  readonly message: string;
  readonly data: string | null;
}

const COLUMNS = 'seq, at, type, level, dataset_no, ordinal, message, data';
const ALL = `SELECT ${COLUMNS} FROM events WHERE run_no = ? AND seq > ? ORDER BY seq LIMIT ?`;
const OF_TYPE = `SELECT ${COLUMNS} FROM events WHERE run_no = ? AND seq > ? AND type = ? ORDER BY seq LIMIT ?`;

/** Events after a sequence number, oldest first. */
export function events(
  reader: Reader,
  runNo: number,
  page: { readonly afterSeq: number; readonly limit: number; readonly type?: string | undefined },
): Promise<readonly (RunEvent & { readonly seq: number })[]> {
  return reader.read(() => {
    const rows =
      page.type === undefined
        ? reader.db.all<EventRow>(ALL, runNo, page.afterSeq, page.limit)
        : reader.db.all<EventRow>(OF_TYPE, runNo, page.afterSeq, page.type, page.limit);
    return rows.map((row) => ({
      seq: row.seq,
      at: row.at,
      type: row.type,
      level: row.level as RunEvent['level'],
      datasetNo: row.dataset_no,
      ordinal: row.ordinal,
      message: row.message,
      data: row.data,
    }));
  });
}
