import { frameName } from '../dataset/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import { framesOf, readerOf } from './frames.ts';
import type { ReportSource } from './reads.ts';

/**
 * The row that a person means, as the run's datasets write its key; the text itself while a dataset is not read to its end
 * or the run has none yet. Throws ROW_NOT_FOUND where all are read and none has such a row.
 */
export async function knownRow(source: ReportSource, run: RunRecord, text: string): Promise<string> {
  const frames = await framesOf(source, run);
  if (frames.length === 0 || frames.some((frame) => !frame.sealed)) return text;
  for (const frame of frames) {
    const reader = readerOf(source, run, frame);
    const ordinal = await reader.findRow(text);
    const row = ordinal === undefined ? undefined : await reader.row(ordinal);
    if (row !== undefined) return row.key;
  }
  const datasets = frames.map(frameName);
  throw new CallsheetError('ROW_NOT_FOUND', `No dataset of ${run.id} (${datasets.join(', ')}) has a row '${text}'.`, {
    details: { runId: run.id, row: text, datasets },
    next: [`callsheet runs show ${run.id}`, `callsheet why ${run.id} --row '#1'`],
  });
}
