import { type DoubtJson, errorsReport } from '../../report/index.ts';
import { reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { doubtsText } from '../summary.ts';
import { counted } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { withRecordedRun } from '../with-run.ts';

/** `runs errors`: failed rows by cause. */
export async function runsErrors(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal } = call;
  return withRecordedRun(call, async (workspace, run) => {
    const report = await errorsReport(reportSource(workspace), run);
    if (terminal.json) {
      await terminal.document(report);
      return 0;
    }
    const { runError, groups, failedRows, inDoubt, answeredLate } = report;
    if (runError !== null) {
      await terminal.line(`The run: ${runError.code}: ${runError.message}`);
      for (const step of runError.next) await terminal.line(`  → ${step}`);
    }
    for (const group of groups) {
      const where = `${group.dataset ?? 'the run'}.${group.columns.join(', ')}`;
      await terminal.line(`${counted(group.count, 'row')}  ${group.code}  in ${where}: ${group.message}`);
      for (const { row, message, said } of group.samples) {
        await terminal.line(`    ${row}: ${message}`);
        if (said !== null) await terminal.line(`      it said: ${said}`);
      }
      for (const step of group.next) await terminal.line(`  → ${step}`);
    }
    for (const doubt of inDoubt) await tellWrite(terminal, `In doubt: ${writeText(doubt)}`, doubt);
    for (const late of answeredLate)
      await tellWrite(terminal, `Its answer came late, so it was done: ${writeText(late)}`, late);
    const failed = `${counted(failedRows, 'row')} failed`;
    if (inDoubt.length > 0) terminal.note(`${failed}, ${doubtsText(inDoubt.length)}.`);
    else terminal.note(failedRows === 0 ? 'No row failed.' : `${failed}.`);
    return 0;
  });
}

function writeText({ call, tool, label, dataset, row }: DoubtJson): string {
  const where = dataset === null ? 'in the play itself' : `in row ${row} of ${dataset}`;
  return `call '${label}' of ${tool} ${where} (${call})`;
}

async function tellWrite(terminal: Terminal, line: string, { next }: Pick<DoubtJson, 'next'>): Promise<void> {
  await terminal.line(line);
  for (const step of next) await terminal.line(`  → ${step}`);
}
