import type { ObservedEvent, Outcome, RunInProgress, RunRecord, Workspace } from '../workspace/index.ts';
import { progressOf } from '../workspace/index.ts';
import { LiveView } from './live/view.ts';
import type { Terminal } from './terminal.ts';

/** What is left of a run when its attempt has ended. */
export interface Attended {
  readonly outcome: Outcome;
  /** Milliseconds. */
  readonly took: number;
  /** Facts of the attempt that no store holds. */
  readonly live: { readonly journal: number; readonly reserved: number; readonly limit: number | null } | undefined;
}

/** Works on a run in this process, shows it on stderr, and lets Ctrl-C stop it. */
export async function attend(
  terminal: Terminal,
  workspace: Workspace,
  order: { readonly run: RunRecord; readonly progress: boolean },
): Promise<Attended> {
  const { clock, engine } = workspace;
  const began = clock.monotonic();
  const working = await engine.start(order.run.id);
  const view = new LiveView(terminal, clock, {
    progress: () => {
      const seen = working.view();
      return seen === undefined ? undefined : progressOf(seen);
    },
    waits: () => workspace.calls.governor.waits().filter((wait) => wait.runId === order.run.id),
  });
  const unsubscribe = working.hub.subscribe((event) => {
    if (isTold(event)) view.print(eventLine(event));
  });
  const unlisten = stopOnSignals(terminal, working, order.run.id);
  if (order.progress) view.start();
  try {
    const outcome = await working.outcome;
    return { outcome, took: clock.monotonic() - began, live: liveFacts(working) };
  } finally {
    view.stop();
    unsubscribe();
    unlisten();
  }
}

function liveFacts(working: RunInProgress): Attended['live'] {
  const seen = working.view();
  if (seen === undefined) return undefined;
  const { calls, credits } = progressOf(seen);
  const journal = Object.values(calls).reduce((sum, one) => sum + one.journal, 0);
  return { journal, reserved: credits.reserved, limit: credits.limit };
}

function isTold({ type, level }: ObservedEvent): boolean {
  return level !== 'debug' && type !== 'progress';
}

function eventLine({ type, level, message, ordinal }: ObservedEvent): string {
  const from = ordinal === null ? '' : `row ${ordinal + 1}: `;
  const mark = level === 'info' ? '' : `${level}: `;
  return `${type === 'log' || type === 'console' ? '| ' : ''}${mark}${from}${message}`;
}

function stopOnSignals(terminal: Terminal, working: RunInProgress, runId: string): () => void {
  let times = 0;
  const onSignal = (): void => {
    times++;
    // A play that never gives way can only be ended from outside of it.
    if (times > 2) process.exit(130);
    working.interrupt();
    terminal.note(
      times === 1
        ? `Stopping: calls in flight may end, up to 30 s; once more stops now. Then: callsheet runs resume ${runId}`
        : 'Stopping now.',
    );
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
}
