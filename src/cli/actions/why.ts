import { type AttemptJson, saidBy, type WhyJson, whyRow } from '../../report/index.ts';
import { reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { counted, shownValue } from '../table.ts';
import { withRecordedRun } from '../with-run.ts';

export interface WhyFlags {
  readonly row: string;
  readonly column?: string;
  readonly dataset?: string;
}

/** `why`: where a row's values came from. */
export async function why(call: Invocation<WhyFlags>): Promise<number> {
  const { terminal, flags } = call;
  return withRecordedRun(call, async (workspace, run) => {
    const { row, column, dataset } = flags;
    const found = await whyRow(reportSource(workspace), run, { row, column, dataset });
    if (terminal.json) await terminal.document(found);
    else for (const line of whyLines(found)) await terminal.line(line);
    return 0;
  });
}

function whyLines({ row, state, error, reason, next, columns }: WhyJson): string[] {
  const lines = [`row ${row}: ${state ?? 'unfinished'}`];
  if (error !== null) {
    lines.push(`  ${error.code} in ${error.column}: ${error.message}`);
    const said = saidBy(error);
    if (said !== null) lines.push(`  it said: ${said}`);
  }
  if (reason !== null) lines.push(`  ${reason}`);
  lines.push(...next.map((step) => `  → ${step}`));
  for (const column of columns) {
    lines.push(`${column.name} = ${shownValue(column.value)}  (${counted(column.credits, 'credit')})`);
    for (const attempt of column.attempts) lines.push(`  ${attemptText(attempt)}`);
    if (column.attempts.length === 0)
      lines.push(reason === null ? '  no call was made for it' : '  no call for it has ended yet');
  }
  const [first] = columns;
  if (first !== undefined) lines.push(`code ${first.codeVersion}`);
  return lines;
}

function attemptText({ leg, tool, outcome, source, receiptId, credits, at, error }: AttemptJson): string {
  const parts = [`${leg}: ${outcome}`];
  if (tool !== null) parts.push(`by ${tool}`);
  if (source !== null) parts.push(`from ${source === 'live' ? 'a live call' : source}`);
  if (receiptId !== null) parts.push(receiptId);
  if (tool !== null) parts.push(counted(credits, 'credit'));
  if (at !== null) parts.push(at);
  if (error !== null)
    parts.push(`${error.code}: ${error.message}${error.said === null ? '' : ` It said: ${error.said}`}`);
  return parts.join(', ');
}
