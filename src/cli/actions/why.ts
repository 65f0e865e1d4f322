import {
  type AttemptJson,
  type CallJson,
  saidBy,
  type UnknownJson,
  type WhyJson,
  type WhyRunJson,
  whyRow,
  whyRun,
} from '../../report/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import { reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { counted, shownNumber, shownValue } from '../table.ts';
import { withRecordedRun } from '../with-run.ts';

export interface WhyFlags {
  readonly row?: string;
  readonly column?: string;
  readonly dataset?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** `why`: where a row's values came from; without a row, what the run's calls outside cells were. */
export async function why(call: Invocation<WhyFlags>): Promise<number> {
  const { terminal, flags, args } = call;
  refuseMixed(flags, args[0] ?? 'last');
  return withRecordedRun(call, async (workspace, run) => {
    const { row, column, dataset, limit = 50, cursor } = flags;
    const source = reportSource(workspace);
    const found =
      row === undefined
        ? await whyRun(source, run, { limit, cursor })
        : await whyRow(source, run, { row, column, dataset });
    if (terminal.json) await terminal.document(found);
    else for (const line of 'row' in found ? rowLines(found) : runLines(found)) await terminal.line(line);
    return 0;
  });
}

/** Nobody is shown something else than what they asked for. */
function refuseMixed({ row, column, dataset, limit, cursor }: WhyFlags, run: string): void {
  const ofRow = { '--column': column, '--dataset': dataset };
  const ofRun = { '--limit': limit, '--cursor': cursor };
  const [stray] = Object.entries(row === undefined ? ofRow : ofRun).filter(([, value]) => value !== undefined);
  if (stray === undefined) return;
  const [option] = stray;
  throw new CallsheetError(
    'USAGE',
    row === undefined
      ? `${option} is about the cells of a row, and none is named.`
      : `${option} is for calls that are in no cell, and --row asks for the cells of one row.`,
    { next: [`callsheet why ${run} --row '#1'`, `callsheet why ${run}`, 'callsheet why --help'] },
  );
}

function rowLines({ row, state, error, reason, next, columns }: WhyJson): string[] {
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

function runLines({ run, credits, total, calls, unknown, nextCursor, codeVersion, next }: WhyRunJson): string[] {
  const { settled, cells, outsideRows, outsideColumns } = credits;
  const lines = [`run ${run}: ${counted(settled, 'credit')}, ${shownNumber(cells)} of them in cells`];
  if (total === 0) lines.push('  every call was made for a cell');
  else lines.push(`  ${counted(total, 'call')} in no cell: ${counted(outsideRows, 'credit')} outside rows`);
  if (outsideColumns > 0) lines.push(`  and ${counted(outsideColumns, 'credit')} for columns that are there no more`);
  for (const call of calls) lines.push(`${callPlace(call)}${attemptText(call)}`);
  lines.push(...unknownLines(unknown), `code ${codeVersion}`);
  const more = nextCursor === null ? [] : [`callsheet why ${run} --cursor ${nextCursor}   (more of them)`];
  return [...lines, ...[...more, ...next].map((step) => `  → ${step}`)];
}

const WHY_UNKNOWN: Readonly<Record<UnknownJson['calls'][number]['why'], string>> = {
  in_doubt: 'a write in doubt',
  answer_lost: 'its answer was lost',
  out: 'it was out when its process ended',
  not_settled: 'it was answered, or begun, and is not settled',
};

function unknownLines({ credits, total, calls }: UnknownJson): string[] {
  if (total === 0) return [];
  const lines = calls.map(
    ({ call, tool, dataset, row, credits: most, why }) =>
      `  ${row === null ? '' : `${dataset ?? 'row'} ${row}, `}${tool} ${call}: up to ${counted(most, 'credit')}, ${WHY_UNKNOWN[why]}`,
  );
  const more = total > calls.length ? [`  and ${counted(total - calls.length, 'call')} more`] : [];
  return [
    `up to ${counted(credits, 'credit')} more, by ${counted(total, 'call')} whose cost is not known`,
    ...lines,
    ...more,
  ];
}

function callPlace({ dataset, row, label, leg }: CallJson): string {
  const place = row === null ? '' : `${dataset ?? 'row'} ${row}, `;
  return leg === label ? place : `${place}${label} at `;
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
