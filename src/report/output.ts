import { extname } from 'node:path';
import { openJsonlWriter } from '../files/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';

/** JSON lines or CSV, by how the name ends; none at all is CSV. Throws OUTPUT_FORMAT_UNKNOWN. */
export function outputFormat(path: string): 'csv' | 'jsonl' {
  const ending = extname(path).toLowerCase();
  if (ending === '.jsonl' || ending === '.ndjson') return 'jsonl';
  if (ending === '.csv' || ending === '') return 'csv';
  const stem = path.slice(0, -ending.length);
  throw new CallsheetError('OUTPUT_FORMAT_UNKNOWN', `${path}: '${ending}' is no format that can be written.`, {
    details: { path },
    next: [`-o ${stem}.csv`, `-o ${stem}.jsonl`],
  });
}

/**
 * Throws what writing this output would throw, before anything is paid: OUTPUT_FORMAT_UNKNOWN, OUTPUT_FOLDER_MISSING,
 * OUTPUT_IS_INPUT, OUTPUT_NOT_WRITABLE. Leaves nothing behind.
 */
export async function assertOutputPath(path: string, inputPaths: readonly string[]): Promise<void> {
  outputFormat(path);
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
