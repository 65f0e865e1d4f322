import { openJsonlWriter } from '../files/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';

/**
 * Throws what writing this output would throw, before anything is paid: OUTPUT_FOLDER_MISSING, OUTPUT_IS_INPUT,
 * OUTPUT_NOT_WRITABLE. Leaves nothing behind.
 */
export async function assertOutputPath(path: string, inputPaths: readonly string[]): Promise<void> {
  const probe = await openJsonlWriter(path, { inputPaths });
  await probe.abort();
}

const MOST = 10_000;

/** The files that a run has read, as absolute paths. */
export async function inputPathsOf(source: ReportSource, run: RunRecord): Promise<readonly string[]> {
  const boundaries = await source.report.boundariesOfRun(run.no, MOST);
  return boundaries.flatMap(({ kind, value }) => {
    if (kind !== 'csv') return [];
    const { sourcePath } = JSON.parse(value) as { sourcePath?: string };
    return sourcePath === undefined ? [] : [sourcePath];
  });
}
