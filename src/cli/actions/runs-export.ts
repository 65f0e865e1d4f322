import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { exportDataset } from '../../report/index.ts';
import { type RunRecord, reportSource, type Workspace } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import type { Terminal } from '../terminal.ts';
import { withRecordedRun } from '../with-run.ts';
import { writtenText } from '../work-on.ts';

export interface ExportFlags {
  readonly output?: string;
  readonly dataset?: string;
  readonly provenance?: boolean;
  readonly rows?: 'all' | 'completed' | 'failed';
  readonly excel?: boolean;
}

/** `runs export`: a dataset of any run, into a file or onto stdout. */
export async function runsExport(call: Invocation<ExportFlags>): Promise<number> {
  const { terminal, flags } = call;
  return withRecordedRun(call, async (workspace, run) => {
    const { output, ...how } = flags;
    const ownFolder = join(
      workspace.paths.exports,
      `${run.id}${flags.dataset === undefined ? '' : `.${encodeURIComponent(flags.dataset)}`}.csv`,
    );
    const path = output === undefined ? ownFolder : resolve(terminal.cwd, output);
    const written = await exportDataset(reportSource(workspace), run, { ...how, path });
    if (terminal.json) await terminal.document(exportJson(run, written));
    else if (output === undefined) await printed(terminal, workspace, path);
    else terminal.note(`wrote ${output}: ${writtenText(written)} of ${written.dataset}`);
    return 0;
  });
}

function exportJson(run: RunRecord, written: Awaited<ReturnType<typeof exportDataset>>) {
  const { path, dataset, rows, inertCells } = written;
  return { run: run.id, dataset, path, rows, inertCells };
}

/** The written file on stdout; then it has done its work. */
async function printed(terminal: Terminal, workspace: Workspace, path: string): Promise<void> {
  if (!path.startsWith(workspace.paths.exports)) return;
  for await (const piece of createReadStream(path, 'utf8')) {
    if (terminal.readerGone) break;
    await terminal.data(String(piece));
  }
  await rm(path, { force: true });
}
