import type { ReportReads } from '../../port.ts';
import type { RunRecord } from '../../records.ts';
import { runStatus } from '../codes.ts';
import type { Reader } from '../reader.ts';
import { type RunRow, runRecord } from './run-row.ts';

const ALL = 'SELECT * FROM runs WHERE no < ? ORDER BY no DESC LIMIT ?';
const OF_STATUS = 'SELECT * FROM runs WHERE no < ? AND status = ? ORDER BY no DESC LIMIT ?';

/** Newest first. */
export function listRuns(reader: Reader, page: Parameters<ReportReads['listRuns']>[0]): Promise<readonly RunRecord[]> {
  const before = page.beforeNo ?? Number.MAX_SAFE_INTEGER;
  return reader.read(() => {
    const rows =
      page.status === undefined
        ? reader.db.all<RunRow>(ALL, before, page.limit)
        : reader.db.all<RunRow>(OF_STATUS, before, runStatus.number(page.status), page.limit);
    return rows.map(runRecord);
  });
}
