import { type ReportSource, runReport, statusIn } from '../report/index.ts';
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
