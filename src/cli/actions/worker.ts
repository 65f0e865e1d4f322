import { type RunJson, runJson, runReport, statusIn } from '../../report/index.ts';
import {
  existingRun,
  newWorker,
  type ObservedEvent,
  type RunProgress,
  reportSource,
  type WorkerEvent,
  type WorkerSummary,
  type Workspace,
} from '../../workspace/index.ts';
import { aboutRun } from '../about-run.ts';
import { errorJson, failureLines, failureOf } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { plainLines } from '../live/render.ts';
import { onStopSignals } from '../stop-signals.ts';
import { doubtsText, waitsText } from '../summary.ts';
import { counted } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { withWorkspace } from '../with-workspace.ts';

export interface WorkerFlags {
  readonly once?: boolean;
  readonly concurrency?: number;
}

const CONCURRENCY = 4;
const PROGRESS_MS = 5_000;

/** `worker`: keeps the due runs of the workspace going. */
export async function worker(call: Invocation<WorkerFlags>): Promise<number> {
  const { terminal, flags } = call;
  const { once = false, concurrency = CONCURRENCY } = flags;
  return withWorkspace(call, async (workspace) => {
    // One event after the other, though some of them have to be looked up.
    let told = Promise.resolve();
    const working = newWorker(workspace, {
      concurrency,
      once,
      tell: (event) => {
        told = told.then(() => tell(terminal, workspace, event)).catch((error) => tellTrouble(terminal, error));
      },
    });
    const unlisten = onStopSignals(terminal, {
      first:
        'Stopping: calls in flight may end, up to 30 s; once more stops now. Runs go back to be taken by a worker.',
      stop: () => working.stop(),
    });
    if (!once) terminal.note(`Working on runs of ${workspace.paths.dir}, ${concurrency} at once; Ctrl-C stops.`);
    try {
      const summary = await working.work();
      await told;
      if (terminal.json) await terminal.record({ type: 'end', ...summary });
      else terminal.note(summaryText(summary));
      return 0;
    } finally {
      unlisten();
    }
  });
}

async function tell(terminal: Terminal, workspace: Workspace, event: WorkerEvent): Promise<void> {
  if (event.kind === 'took') return tellTaken(terminal, workspace, event);
  if (event.kind === 'ended') return tellEnded(terminal, workspace, event.runId);
  const failure = failureOf(event.kind === 'passed' ? aboutRun(event.error, event.runId) : event.error);
  if (terminal.json)
    return terminal.record({
      type: event.kind,
      ...(event.kind === 'passed' && { runId: event.runId }),
      error: errorJson(failure),
    });
  const what = event.kind === 'passed' ? `${event.runId}: passed over: ` : '';
  for (const [index, line] of failureLines(failure).entries()) terminal.note(index === 0 ? `${what}${line}` : line);
}

async function tellTaken(
  terminal: Terminal,
  workspace: Workspace,
  { run: { id }, working }: Extract<WorkerEvent, { kind: 'took' }>,
): Promise<void> {
  // Before anything is looked up, so that none of its events is missed.
  if (!terminal.json) working.hub.subscribe(eventTeller(terminal, workspace, id));
  const run = await runOf(workspace, id);
  if (terminal.json) return terminal.record({ type: 'took', run });
  terminal.note(`${id}: ${run.play}, attempt ${run.attempt}`);
}

async function tellEnded(terminal: Terminal, workspace: Workspace, runId: string): Promise<void> {
  const report = await runReport(reportSource(workspace), await existingRun(workspace, runId));
  const { run, waiting, datasets, credits, inDoubt } = report;
  if (terminal.json) return terminal.record({ type: 'ended', run, waiting, datasets, credits, inDoubt });
  const waits = waiting === null ? '' : `, ${waitsText(waiting)}`;
  terminal.note(
    `${runId}: ${run.status}${run.error === null ? '' : `: ${run.error.code}: ${run.error.message}`}${waits}`,
  );
  if (inDoubt > 0) terminal.note(`${runId}: ${doubtsText(inDoubt)}`);
  const errors = inDoubt > 0 ? [`callsheet runs errors ${runId}`] : [];
  for (const step of new Set([...(run.error?.next ?? []), ...errors])) terminal.note(`  → ${step}`);
}

async function runOf(workspace: Workspace, runId: string): Promise<RunJson> {
  const run = await existingRun(workspace, runId);
  return runJson(run, statusIn(reportSource(workspace), run));
}

/** What the play logs and what goes wrong; how far it has come every few seconds. */
function eventTeller(terminal: Terminal, { clock }: Workspace, runId: string): (event: ObservedEvent) => void {
  let toldAt = clock.monotonic();
  return ({ type, level, message, ordinal, data, at }) => {
    if (type === 'progress') {
      if (data === null || clock.monotonic() - toldAt < PROGRESS_MS) return;
      toldAt = clock.monotonic();
      const progress = JSON.parse(data) as RunProgress;
      for (const line of plainLines({ at, progress, rates: new Map() })) terminal.note(`${runId}: ${line}`);
    } else if (type === 'log' || type === 'console' || level === 'warn' || level === 'error') {
      const from = ordinal === null ? '' : `row ${ordinal + 1}: `;
      terminal.note(`${runId}: ${level === 'info' ? '| ' : `${level}: `}${from}${message}`);
    }
  };
}

function tellTrouble(terminal: Terminal, error: unknown): void {
  for (const line of failureLines(failureOf(error))) terminal.note(line);
}

function summaryText({ taken, completed, failed, cancelled, waiting, handedBack, passed }: WorkerSummary): string {
  if (taken === 0 && passed === 0) return 'Nothing was due.';
  const parts = [
    [completed, 'completed'],
    [failed, 'failed'],
    [cancelled, 'cancelled'],
    [waiting, 'waiting'],
    [handedBack, 'given back'],
    [passed, 'passed over'],
  ] as const;
  const shown = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return `${counted(taken, 'run')} taken${shown.length === 0 ? '' : `: ${shown.join(', ')}`}.`;
}
