import { type DatasetReader, datasetReader, frameName } from '../dataset/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { FrameRecord, RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';

/**
 * The datasets of a run in order. A frame that was cut short before its seal is left out once a later attempt has admitted
 * the same dataset anew.
 */
export async function framesOf(
  source: Pick<ReportSource, 'datasets'>,
  run: RunRecord,
): Promise<readonly FrameRecord[]> {
  const frames = await source.datasets.frames(run.no);
  const placeOf = ({ playPath, key }: FrameRecord): string => `${playPath} ${key}`;
  const newest = new Map(frames.map((frame) => [placeOf(frame), frame.datasetNo]));
  return frames.filter((frame) => frame.sealed || newest.get(placeOf(frame)) === frame.datasetNo);
}

/** The dataset that is meant: by key, or the only one. Throws DATASET_NOT_FOUND and lists what there is. */
export async function chosenFrame(source: ReportSource, run: RunRecord, key: string | undefined): Promise<FrameRecord> {
  const frames = await framesOf(source, run);
  const keys = frames.map(frameName);
  const named = key === undefined ? frames : frames.filter((frame) => frameName(frame) === key);
  const chosen = key === undefined && frames.length !== 1 ? undefined : named.at(-1);
  if (chosen !== undefined) return chosen;
  const problem =
    frames.length === 0
      ? 'has no dataset'
      : key === undefined
        ? `has ${frames.length} datasets, and none was named`
        : `has no dataset '${key}'`;
  throw new CallsheetError(
    'DATASET_NOT_FOUND',
    `The run ${run.id} ${problem}${keys.length > 0 ? ` (there is: ${keys.join(', ')})` : ''}.`,
    {
      details: { runId: run.id, datasets: keys },
      next: keys.length > 0 ? keys.slice(0, 3).map((one) => `… --dataset '${one}'`) : [`callsheet runs show ${run.id}`],
    },
  );
}

export function readerOf(source: ReportSource, run: RunRecord, frame: FrameRecord): DatasetReader {
  return datasetReader({ reads: source.datasets, filesDir: source.filesDir, runNo: run.no, frame });
}
