import { runReport } from '../../report/index.ts';
import { CallsheetError } from '../../sdk/index.ts';
import { existingRun, reportSource, type SignalOutcome, sendSignal, type Workspace } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { jsonOption } from '../run-input.ts';
import { counted } from '../table.ts';
import { withRecords } from '../with-workspace.ts';

export interface SignalFlags {
  readonly event: string;
  readonly data: string;
  readonly row?: string;
  readonly wait?: number;
  readonly all?: boolean;
  readonly keep?: boolean;
}

/** `signal`: an event for a run that waits for it, or will. */
export async function signal(call: Invocation<SignalFlags>): Promise<number> {
  const { terminal, args, flags } = call;
  const { event, row = null, wait = null, all = false, keep = false } = flags;
  if (wait !== null && (row !== null || all || keep))
    throw new CallsheetError(
      'USAGE',
      '--wait names one wait already; --row, --all and --keep are for whichever waits.',
      {
        next: ['callsheet signal --help'],
      },
    );
  const data = await jsonOption(terminal, '--data', flags.data);
  return withRecords(call, async (workspace) => {
    const runId = args[0] === undefined ? null : (await existingRun(workspace, args[0])).id;
    const outcome = await sendSignal(workspace, { runId, event, row, wait, all, keep, data });
    const answered = outcome.delivered.map((one) => ({
      run: one.runId,
      wait: `wait_${one.waitNo}`,
      row: one.rowKey,
    }));
    const next = await nextOf(workspace, outcome, runId);
    if (terminal.json) {
      await terminal.document({ signal: { event, run: runId, row, kept: outcome.kept, answered }, next });
      return 0;
    }
    for (const line of outcomeLines(outcome, { event, runId: runId ?? '', row })) terminal.note(line);
    if (outcome.kept && runId !== null) terminal.note(await waitedFor(workspace, runId));
    for (const step of next) terminal.note(`  → ${step}`);
    return 0;
  });
}

const NAMED_ROWS = 20;

function outcomeLines(
  { delivered, kept }: SignalOutcome,
  { event, runId, row }: { readonly event: string; readonly runId: string; readonly row: string | null },
): string[] {
  if (kept) {
    const where = row === null ? runId : `row ${row} of ${runId}`;
    return [
      `Nothing in ${where} waits for '${event}' now: it is kept for the next wait that does.`,
      'Questions of event tools, such as human_approval, take only answers that come after them.',
    ];
  }
  const runs = [...new Set(delivered.map((one) => one.runId))];
  return runs.map((id) => {
    const rows = delivered.filter((one) => one.runId === id).map((one) => one.rowKey);
    const named = rows.flatMap((key) => (key === null ? [] : [key])).slice(0, NAMED_ROWS);
    const more = rows.length > NAMED_ROWS ? `, and ${rows.length - NAMED_ROWS} more` : '';
    const which = named.length === 0 ? '' : `: ${counted(rows.length, 'row')} (${named.join(', ')}${more})`;
    return `'${event}' has answered ${id}${which}.`;
  });
}

/** What a kept event might have been meant for. */
async function waitedFor(workspace: Workspace, runId: string): Promise<string> {
  const { waiting } = await runReport(reportSource(workspace), await existingRun(workspace, runId));
  const events = waiting?.events.map(({ event, count }) => `'${event}' (${count})`) ?? [];
  return events.length === 0 ? 'It waits for no event now.' : `What it does wait for: ${events.join(', ')}.`;
}

const NAMED_RUNS = 3;

/** Whoever works on a run that was answered sees that by itself; one that nobody works on has to be taken up. */
async function nextOf(workspace: Workspace, outcome: SignalOutcome, runId: string | null): Promise<string[]> {
  const answered = [...new Set(outcome.delivered.map((one) => one.runId))];
  const asleep: string[] = [];
  for (const id of answered.length === 0 && runId !== null ? [runId] : answered)
    if ((await existingRun(workspace, id)).status !== 'running') asleep.push(id);
  if (outcome.kept) return asleep.map((id) => `callsheet runs show ${id}`);
  if (asleep.length === 0) return answered.slice(0, NAMED_RUNS).map((id) => `callsheet runs watch ${id}`);
  return ['callsheet worker', ...asleep.slice(0, NAMED_RUNS).map((id) => `callsheet runs resume ${id}`)];
}
