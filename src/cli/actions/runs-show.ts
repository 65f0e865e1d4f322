import {
  type RunReport,
  runReport,
  type StepJson,
  type TimingsJson,
  timingsOf,
  type WaitingJson,
} from '../../report/index.ts';
import { reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { paceText } from '../pace-text.ts';
import { summaryLines } from '../summary.ts';
import { counted, shownNumber, shownSeconds, tableLines } from '../table.ts';
import { withRecordedRun } from '../with-run.ts';

export interface ShowFlags {
  readonly timings?: boolean;
}

/** `runs show`. */
export async function runsShow(call: Invocation<ShowFlags>): Promise<number> {
  const { terminal, flags } = call;
  return withRecordedRun(call, async (workspace, run) => {
    const source = reportSource(workspace);
    const report = await runReport(source, run);
    const timings = flags.timings === true ? await timingsOf(source, run) : undefined;
    if (terminal.json) {
      await terminal.document(timings === undefined ? report : { ...report, timings });
      return 0;
    }
    const { error, artifact, createdAt, startedAt, finishedAt } = report.run;
    const lines = [
      ...summaryLines(report),
      `  code     ${artifact}`,
      `  times    created ${createdAt}, started ${startedAt ?? '–'}, finished ${finishedAt ?? '–'}`,
      ...report.steps.flatMap((step) => stepLines(step, '  ')),
      ...toolLines(report.calls.byTool),
      ...accountLines(report.accounts),
      ...(timings === undefined ? [] : timingLines(timings)),
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

function accountLines(accounts: RunReport['accounts']): string[] {
  if (accounts.length === 0) return [];
  const rows = accounts.map((one) => [
    `  ${one.account}`,
    paceText(one),
    `${shownNumber(one.inFlight)}${one.concurrency === null ? '' : ` of ${shownNumber(one.concurrency)}`}`,
    shownNumber(one.waiting),
    shownNumber(one.deferred),
    shownNumber(one.credits),
    one.failing ? 'failing' : one.gateClosedUntil === null ? 'open' : `closed until ${one.gateClosedUntil}`,
  ]);
  const waits = accounts.flatMap((one) =>
    one.waits.map(({ calls, reason, until }) => {
      const when = until === null ? '' : ` until ${until}`;
      return `  ${counted(calls, 'call')} to ${one.account} ${calls === 1 ? 'waits' : 'wait'} (${reason})${when}`;
    }),
  );
  return [...tableLines(['  account', 'pace', 'in flight', 'waiting', 'deferred', 'credits', 'gate'], rows), ...waits];
}

/** Where the time of calls went, a line for each tool and phase. */
function timingLines(timings: TimingsJson): string[] {
  const rows = Object.entries(timings).flatMap(([tool, phases]) =>
    Object.entries(phases).map(([phase, { count, p50, p95, max, total }]) => [
      `  ${tool}`,
      phase,
      ...[count, p50, p95, max].map(shownNumber),
      shownSeconds(total / 1000),
    ]),
  );
  if (rows.length === 0) return ['  No time of calls is recorded yet.'];
  return tableLines(['  tool', 'phase', 'calls', 'p50 ms', 'p95 ms', 'max ms', 'in all'], rows);
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
