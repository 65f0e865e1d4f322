import type { ObservedEvent, Outcome, RunInProgress, RunRecord, Workspace } from '../workspace/index.ts';
import { progressOf } from '../workspace/index.ts';
import type { Waited } from './live/snapshot.ts';
import { LiveView } from './live/view.ts';
import { onStopSignals } from './stop-signals.ts';
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
  const { clock, engine, children } = workspace;
  const began = clock.monotonic();
  // What the run starts is worked on here, too, as long as somebody looks.
  children.attend();
  const working = await engine.start(order.run.id);
  const waited = watchWaits(workspace, working, order.run.no);
  const view = new LiveView(terminal, clock, {
    progress: () => {
      const seen = working.view();
      return seen === undefined ? undefined : progressOf(seen);
    },
    waited: () => waited.now,
  });
  const unsubscribe = working.hub.subscribe((event) => {
    if (isTold(event)) view.print(eventLine(event));
  });
  const unlisten = onStopSignals(terminal, {
    first: `Stopping: calls in flight may end, up to 30 s; once more stops now. Then: callsheet runs resume ${order.run.id}`,
    stop: () => {
      working.interrupt();
      children.interrupt();
    },
  });
  if (order.progress) view.start();
  try {
    const outcome = await working.outcome;
    if (children.count > 0) view.print(`${children.count} runs that it has started are still at work.`);
    await children.settled();
    return { outcome, took: clock.monotonic() - began, live: liveFacts(working) };
  } finally {
    view.stop();
    waited.stop();
    unsubscribe();
    unlisten();
  }
}

const LOOK_MS = 2_000;

/** What parked rows wait for, looked up every now and then while there are any. */
function watchWaits(
  { store, clock }: Workspace,
  working: RunInProgress,
  runNo: number,
): { readonly now: Waited | undefined; stop(): void } {
  let now: Waited | undefined;
  let cancel = (): void => {};
  let stopped = false;
  const look = async (): Promise<void> => {
    const seen = working.view();
    const isParked = seen !== undefined && progressOf(seen).datasets.some(({ waiting }) => waiting > 0);
    // The view is for people: where the store cannot tell, it shows nothing.
    now = isParked ? await store.runs.openWaits(runNo).catch(() => undefined) : undefined;
    if (!stopped) schedule();
  };
  const schedule = (): void => {
    cancel = clock.after(LOOK_MS, () => void look(), { keepAlive: false });
  };
  schedule();
  return {
    get now() {
      return now;
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
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
