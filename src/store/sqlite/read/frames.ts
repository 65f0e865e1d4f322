import type { FrameRecord } from '../../records.ts';
import type { Reader } from '../reader.ts';

export interface FrameRow {
  readonly run_no: number;
  readonly dataset_no: number;
  readonly key: string;
  readonly play_path: string;
  readonly plan: string;
  readonly sealed: number;
  readonly total: number;
  readonly admitted: number;
  readonly at: number;
}

export function frames(reader: Reader, runNo: number): Promise<readonly FrameRecord[]> {
  return reader.read(() =>
    reader.db.all<FrameRow>('SELECT * FROM frames WHERE run_no = ? ORDER BY dataset_no', runNo).map(frameRecord),
  );
}

export function frameRecord(row: FrameRow): FrameRecord {
  return {
    datasetNo: row.dataset_no,
    key: row.key,
    playPath: row.play_path,
    plan: row.plan,
    sealed: row.sealed === 1,
    total: row.total,
    admitted: row.admitted,
    at: row.at,
  };
}
