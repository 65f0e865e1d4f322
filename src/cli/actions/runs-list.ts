import { runsList as listed } from '../../report/index.ts';
import { reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { tableLines } from '../table.ts';
import { withRecords } from '../with-workspace.ts';

export interface ListFlags {
  readonly limit?: number;
  readonly cursor?: string;
}

/** `runs list`. */
export async function runsList(call: Invocation<ListFlags>): Promise<number> {
  const { terminal, flags } = call;
  return withRecords(call, async (workspace) => {
    const page = await listed(reportSource(workspace), { limit: flags.limit ?? 20, cursor: flags.cursor });
    if (terminal.json) {
      await terminal.document(page);
      return 0;
    }
    const rows = page.runs.map((run) => [run.id, run.status, run.createdAt, run.play]);
    for (const line of tableLines(['run', 'status', 'created', 'play'], rows)) await terminal.line(line);
    if (page.runs.length === 0) terminal.note('No run yet. → callsheet run <play>');
    if (page.nextCursor !== null) terminal.note(`More: callsheet runs list --cursor ${page.nextCursor}`);
    return 0;
  });
}
