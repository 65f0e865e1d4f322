import type { FrameRecord } from '../../records.ts';
import type { Reader } from '../reader.ts';
import { type FrameRow, frameRecord } from './frames.ts';

const LATEST = `SELECT frames.* FROM runs JOIN frames ON frames.run_no = runs.no
  WHERE runs.play = ? AND runs.no < ? AND frames.key = ? AND frames.sealed = 1
  ORDER BY runs.no DESC, frames.dataset_no DESC LIMIT 1`;

/** The newest sealed frame under this dataset key in an earlier run of the play. */
export function previousFrame(
  reader: Reader,
  of: { readonly play: string; readonly datasetKey: string; readonly beforeRunNo: number },
): Promise<{ readonly runNo: number; readonly frame: FrameRecord } | undefined> {
  return reader.read(() => {
    const row = reader.db.get<FrameRow>(LATEST, of.play, of.beforeRunNo, of.datasetKey);
    return row === undefined ? undefined : { runNo: row.run_no, frame: frameRecord(row) };
  });
}
