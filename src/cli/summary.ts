import type { RunReport, WaitingJson } from '../report/index.ts';
import { counted, eventsText, shownNumber, shownSeconds } from './table.ts';

export interface SandboxTotals {
  readonly operations: number;
  readonly credits: number;
}

export interface SummaryFacts {
  /** Milliseconds of this attempt. */
  readonly took?: number | undefined;
  /** The ledger of the workspace's own sandbox, before and after. */
  readonly sandbox?: { readonly before: SandboxTotals; readonly after: SandboxTotals } | undefined;
}

/** How a run stands, in a few lines. */
export function summaryLines(report: RunReport, facts: SummaryFacts = {}): string[] {
  const { run, datasets, calls, credits } = report;
  const time = facts.took === undefined ? '' : ` after ${shownSeconds(facts.took / 1000)}`;
  const lines = [`${run.play}: ${run.status}${time}  (${run.id}, attempt ${run.attempt})`];
  for (const dataset of datasets) {
    const parts = [`${counted(dataset.completed, 'row')} completed`, `${shownNumber(dataset.failed)} failed`];
    if (dataset.skipped > 0) parts.push(`${shownNumber(dataset.skipped)} skipped`);
    if (dataset.waiting > 0) parts.push(`${shownNumber(dataset.waiting)} waiting`);
    if (dataset.unfinished > 0) parts.push(`${shownNumber(dataset.unfinished)} unfinished`);
    lines.push(`  rows     ${dataset.key}: ${parts.join(', ')}`);
  }
  lines.push(`  calls    ${callsText(calls)}`);
  const limit = credits.limit === null ? '' : ` of ${shownNumber(credits.limit)}`;
  const unknown =
    credits.unknown > 0
      ? `, and up to ${shownNumber(credits.unknown)} more by what was begun and is not settled (callsheet why ${run.id})`
      : '';
  lines.push(`  credits  ${shownNumber(credits.settled)}${limit}${inNoCellText(report)}${unknown}`);
  if (calls.live === 0 && calls.receipt > 0 && unknown === '')
    lines.push('  Bought nothing: every answer came from receipts.');
  if (report.inDoubt > 0) lines.push(`  doubts   ${doubtsText(report.inDoubt)}`);
  if (report.waiting !== null) lines.push(`  waits    ${waitsText(report.waiting)}`);
  if (facts.sandbox !== undefined) lines.push(sandboxLine(facts.sandbox));
  return lines;
}

/** What of the credits no cell tells of, and what does. */
function inNoCellText({ run, credits: { outsideRows, outsideColumns } }: RunReport): string {
  const parts = [
    ...(outsideRows === 0 ? [] : [`${shownNumber(outsideRows)} outside rows`]),
    ...(outsideColumns === 0 ? [] : [`${shownNumber(outsideColumns)} for columns that are there no more`]),
  ];
  return parts.length === 0 ? '' : `, of these ${parts.join(' and ')} (callsheet why ${run.id})`;
}

/** How many writes nobody knows the end of. */
export function doubtsText(count: number): string {
  return `${counted(count, 'write')} in doubt: nobody knows whether ${count === 1 ? 'it was' : 'they were'} done`;
}

function callsText(calls: RunReport['calls']): string {
  const parts = [`${shownNumber(calls.live)} live`, `${shownNumber(calls.receipt)} from receipts`];
  if (calls.coalesced > 0) parts.push(`${shownNumber(calls.coalesced)} coalesced`);
  if (calls.sourceRun > 0) parts.push(`${shownNumber(calls.sourceRun)} from the source run`);
  if (calls.unsent > 0) parts.push(`${shownNumber(calls.unsent)} not sent`);
  if (calls.journal > 0) parts.push(`${shownNumber(calls.journal)} replayed`);
  if (calls.failed > 0) parts.push(`${shownNumber(calls.failed)} failed`);
  return parts.join(', ');
}

function sandboxLine({ before, after }: NonNullable<SummaryFacts['sandbox']>): string {
  const operations = `${shownNumber(before.operations)} → ${counted(after.operations, 'operation')}`;
  return `  sandbox  ledger: ${operations}, ${shownNumber(before.credits)} → ${counted(after.credits, 'credit')}`;
}

/** What a run waits for, each event with its time, and when it goes on by itself where no event's time says that. */
export function waitsText({ events, wakeAt }: WaitingJson): string {
  const awaited = events.map((one) => `${eventsText([one])}${one.until === null ? '' : `, until ${one.until}`}`);
  const byItself =
    wakeAt === null || events.some(({ until }) => until === wakeAt) ? [] : [`goes on by itself at ${wakeAt}`];
  return [...(awaited.length === 0 ? [] : [`for ${awaited.join(', ')}`]), ...byItself].join('; ');
}
