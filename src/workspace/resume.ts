import { type ReportSource, runReport, statusIn } from '../report/index.ts';
import type { RunOptions } from '../run/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';

/** Throws RUN_NOT_RESUMABLE where nothing of the run is left to do. */
export async function assertResumable(source: ReportSource, run: RunRecord, retryFailed: boolean): Promise<void> {
  const status = statusIn(source, run);
  if (status !== 'completed' && status !== 'cancelled') return;
  const { datasets } = await runReport(source, run);
  const failed = datasets.reduce((sum, dataset) => sum + dataset.failed, 0);
  if (status === 'completed' && retryFailed && failed > 0) return;
  const why =
    status === 'cancelled'
      ? 'was cancelled'
      : failed === 0
        ? 'is completed, and no row of it failed'
        : `is completed; ${failed} rows of it failed`;
  throw new CallsheetError('RUN_NOT_RESUMABLE', `The run ${run.id} ${why}: there is nothing to resume.`, {
    details: { runId: run.id, status, failedRows: failed },
    next: [
      ...(status === 'completed' && failed > 0 ? [`callsheet runs resume ${run.id} --retry-failed`] : []),
      `callsheet runs show ${run.id}`,
      ...(datasets.length > 0 ? [`callsheet runs export ${run.id} -o out.csv`] : []),
    ],
  });
}

/** Why a run must not go on here: one that is answered by recorded files must not begin to buy. */
export function modeRefusal(
  run: RunRecord,
  mode: RunOptions['mode'],
  command: 'resume' | 'rerun' = 'resume',
): CallsheetError | undefined {
  const own = (JSON.parse(run.options) as RunOptions).mode;
  if (own === mode) return undefined;
  const why =
    own === 'fixture'
      ? 'is answered by recorded files, and would buy without them'
      : 'buys its answers, and recorded files must not stand in for some of them';
  const next = `callsheet runs ${command} ${run.id}${own === 'fixture' ? ' --fixtures <dir>' : ''}`;
  return new CallsheetError('RUN_NOT_RESUMABLE', `The run ${run.id} ${why}.`, {
    details: { runId: run.id, mode: own },
    next: [next],
  });
}
