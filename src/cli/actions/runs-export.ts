import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type ExportedCredits, exportDataset } from '../../report/index.ts';
import { type RunRecord, reportSource, type Workspace } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { counted, shownNumber } from '../table.ts';
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
    if (written.credits !== null && !terminal.json) terminal.note(creditsText(written.credits, run.id));
    return 0;
  });
}

function exportJson(run: RunRecord, written: Awaited<ReturnType<typeof exportDataset>>) {
  const { path, dataset, rows, inertCells, credits } = written;
  const next = credits === null || credits.inNoCell === 0 ? [] : [`callsheet why ${run.id}`];
  return { run: run.id, dataset, path, rows, inertCells, credits, next };
}

/** What the credits of the file's cells leave out of those that the run has settled. */
function creditsText({ written, elsewhere, inNoCell }: ExportedCredits, runId: string): string {
  const beside = [
    ...(elsewhere === 0 ? [] : [`${shownNumber(elsewhere)} more in cells of other rows or datasets`]),
    ...(inNoCell === 0 ? [] : [`${shownNumber(inNoCell)} more in no cell: callsheet why ${runId}`]),
  ];
  return [`${counted(written, 'credit')} in its cells`, ...beside].join('; ');
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
