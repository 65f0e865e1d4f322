import { errorsReport } from '../../report/index.ts';
import { reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { doubtsText } from '../summary.ts';
import { counted } from '../table.ts';
import { withRun } from '../with-run.ts';

/** `runs errors`: failed rows by cause. */
export async function runsErrors(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal } = call;
  return withRun(call, async (workspace, run) => {
    const report = await errorsReport(reportSource(workspace), run);
    if (terminal.json) {
      await terminal.document(report);
      return 0;
    }
    const { runError, groups, failedRows, inDoubt } = report;
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
    for (const { call, tool, label, dataset, row, next } of inDoubt) {
      const where = dataset === null ? 'in the play itself' : `in row ${row} of ${dataset}`;
      await terminal.line(`In doubt: call '${label}' of ${tool} ${where} (${call})`);
      for (const step of next) await terminal.line(`  → ${step}`);
    }
    const failed = `${counted(failedRows, 'row')} failed`;
    if (inDoubt.length > 0) terminal.note(`${failed}, ${doubtsText(inDoubt.length)}.`);
    else terminal.note(failedRows === 0 ? 'No row failed.' : `${failed}.`);
    return 0;
  });
}
