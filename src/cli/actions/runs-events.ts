import { type EventJson, eventsOf } from '../../report/index.ts';
import { reportSource } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import type { Terminal } from '../terminal.ts';
import { withRecordedRun } from '../with-run.ts';

export interface EventsFlags {
  readonly type?: string;
}

/** `runs events`. */
export function runsEvents(call: Invocation<EventsFlags>): Promise<number> {
  return streamed(call, { type: call.flags.type, wanted: () => true });
}

/** `runs logs`: what the play said with ctx.log and console. */
export function runsLogs(call: Invocation<Record<never, never>>): Promise<number> {
  return streamed(call, { wanted: ({ type }) => type === 'log' || type === 'console' });
}

async function streamed(
  call: Invocation<EventsFlags>,
  asked: { readonly type?: string | undefined; readonly wanted: (event: EventJson) => boolean },
): Promise<number> {
  const { terminal } = call;
  return withRecordedRun(call, async (workspace, run) => {
    for await (const event of eventsOf(reportSource(workspace), run, { type: asked.type })) {
      if (terminal.readerGone) break;
      if (asked.wanted(event)) await tellEvent(terminal, event);
    }
    return 0;
  });
}

/** One event on stdout. */
export function tellEvent(terminal: Terminal, event: EventJson): Promise<void> {
  if (terminal.json) return terminal.record(event);
  const { at, level, type, message, dataset, row } = event;
  const place = row === null ? '' : `  ${dataset ?? ''}#${row}`;
  return terminal.line(`${at}  ${level.padEnd(5)}  ${type}${place}  ${message}`);
}
