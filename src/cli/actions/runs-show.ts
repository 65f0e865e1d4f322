import { runReport, type StepJson, type WaitingJson } from '../../report/index.ts';
import { reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { summaryLines } from '../summary.ts';
import { counted, shownNumber, tableLines } from '../table.ts';
import { withRun } from '../with-run.ts';

/** `runs show`. */
export async function runsShow(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal } = call;
  return withRun(call, async (workspace, run) => {
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
      ...waitLines(report.waiting),
      ...report.children.map(({ id, play, status }) => `  child    ${id}  ${play}: ${status}`),
    ];
    if (error !== null) lines.push(`${error.code}: ${error.message}`);
    for (const line of lines) await terminal.line(line);
    if (report.result !== null) await terminal.line(JSON.stringify(report.result, null, 2));
    for (const step of new Set([...(error?.next ?? []), ...report.next])) terminal.note(`  → ${step}`);
    return 0;
  });
}

function waitLines(waiting: WaitingJson | null): string[] {
  if (waiting === null || waiting.open.length === 0) return [];
  const { open, events } = waiting;
  const all = events.reduce((sum, { count }) => sum + count, 0);
  const rows = open.map(({ event, row, since, until, id, inDoubt }) => [
    `  ${event}`,
    row ?? '–',
    since,
    until ?? '–',
    inDoubt ? `${id} (what asks is in doubt)` : id,
  ]);
  const more = all > open.length ? [`  … and ${shownNumber(all - open.length)} more`] : [];
  return [...tableLines(['  event', 'row', 'since', 'until', 'wait'], rows), ...more];
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
