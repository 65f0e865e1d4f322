import { errorsReport } from '../../report/index.ts';
import { existingRun, reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { counted } from '../table.ts';
import { withWorkspace } from '../with-workspace.ts';

/** `runs errors`: failed rows by cause. */
export async function runsErrors(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal, args } = call;
  return withWorkspace(call, async (workspace) => {
    const run = await existingRun(workspace, args[0] ?? '');
    const report = await errorsReport(reportSource(workspace), run);
    if (terminal.json) {
      await terminal.document(report);
      return 0;
    }
    const { runError, groups, failedRows } = report;
    if (runError !== null) {
      await terminal.line(`The run: ${runError.code}: ${runError.message}`);
      for (const step of runError.next) await terminal.line(`  → ${step}`);
    }
    for (const group of groups) {
      const where = `${group.dataset ?? 'the run'}.${group.columns.join(', ')}`;
      await terminal.line(`${counted(group.count, 'row')}  ${group.code}  in ${where}: ${group.message}`);
      for (const sample of group.samples) await terminal.line(`    ${sample.row}: ${sample.message}`);
      for (const step of group.next) await terminal.line(`  → ${step}`);
    }
    terminal.note(failedRows === 0 ? 'No row failed.' : `${counted(failedRows, 'row')} failed.`);
    return 0;
  });
}
