import { runReport, type StepJson } from '../../report/index.ts';
import { existingRun, reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { summaryLines } from '../summary.ts';
import { counted, shownNumber, tableLines } from '../table.ts';
import { withWorkspace } from '../with-workspace.ts';

/** `runs show`. */
export async function runsShow(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal, args } = call;
  return withWorkspace(call, async (workspace) => {
    const run = await existingRun(workspace, args[0] ?? '');
    const report = await runReport(reportSource(workspace), run);
    if (terminal.json) {
      await terminal.document(report);
      return 0;
    }
    const { error, artifact, createdAt, startedAt, finishedAt } = report.run;
    const lines = [
      ...summaryLines(report),
      `  code     ${artifact}`,
      `  times    created ${createdAt}, started ${startedAt ?? '–'}, finished ${finishedAt ?? '–'}`,
      ...report.steps.flatMap((step) => stepLines(step, '  ')),
      ...toolLines(report.calls.byTool),
    ];
    if (error !== null) lines.push(`${error.code}: ${error.message}`);
    for (const line of lines) await terminal.line(line);
    if (report.result !== null) await terminal.line(JSON.stringify(report.result, null, 2));
    for (const step of new Set([...(error?.next ?? []), ...report.next])) terminal.note(`  → ${step}`);
    return 0;
  });
}

function stepLines(step: StepJson, indent: string): string[] {
  const line = `${indent}${step.kind} ${step.label}`;
  if (step.kind === 'csv') return [`${line}: ${counted(step.rows, 'row')}`];
  if (step.kind === 'tool') return [`${line}: ${counted(step.calls, 'call')} of ${step.tool}`];
  if (step.kind === 'dataset') return [line, ...step.steps.flatMap((inner) => stepLines(inner, `${indent}  `))];
  return [line];
}

function toolLines(byTool: Awaited<ReturnType<typeof runReport>>['calls']['byTool']): string[] {
  const rows = Object.entries(byTool).map(([tool, calls]) => [
    `  ${tool}`,
    ...[calls.live, calls.receipt, calls.coalesced, calls.hits, calls.noResult, calls.failed, calls.credits].map(
      shownNumber,
    ),
  ]);
  if (rows.length === 0) return [];
  return tableLines(['  tool', 'live', 'receipts', 'coalesced', 'hits', 'none', 'failed', 'credits'], rows);
}
