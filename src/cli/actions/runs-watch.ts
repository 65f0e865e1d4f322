import { eventsOf, runReport, type ShownStatus, statusIn } from '../../report/index.ts';
import { sleep } from '../../scope/index.ts';
import { existingRun, type RunProgress, type RunRecord, reportSource, type Workspace } from '../../workspace/index.ts';
import { failureLines, failureOf } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import type { Waited } from '../live/snapshot.ts';
import { LiveView } from '../live/view.ts';
import { summaryLines } from '../summary.ts';
import type { Terminal } from '../terminal.ts';
import { withRecordedRun } from '../with-run.ts';
import { exitOf, recordedError } from '../work-on.ts';
import { tellEvent } from './runs-events.ts';

const POLL_MS = 1_000;

/** `runs watch`: follows a run, of whatever process, by what it records. */
export async function runsWatch(call: Invocation<Record<never, never>>): Promise<number> {
  const { terminal } = call;
  return withRecordedRun(call, async (workspace, { id }) => {
    const run = await followed(terminal, workspace, id);
    const report = await runReport(reportSource(workspace), run);
    if (terminal.json) await terminal.record({ type: 'end', ...report });
    else for (const line of summaryLines(report)) terminal.note(line);
    const error = recordedError(report);
    if (error !== undefined && !terminal.json) for (const line of failureLines(failureOf(error))) terminal.note(line);
    return exitOf(error, report);
  });
}

/** Worked on, or due, so that a worker takes it. */
function isGoing(run: RunRecord, status: ShownStatus, now: number): boolean {
  if (status === 'running') return true;
  return (status === 'queued' || status === 'waiting') && run.wakeAt !== null && run.wakeAt <= now;
}

/** Resolves to the run as it is when nobody works on it any more, and it is not due. */
async function followed(terminal: Terminal, workspace: Workspace, id: string): Promise<RunRecord> {
  const { clock } = workspace;
  const source = reportSource(workspace);
  let progress: RunProgress | undefined;
  let afterSeq = 0;
  let waited: Waited | undefined;
  const view = new LiveView(terminal, clock, { progress: () => progress, waited: () => waited });
  view.start();
  try {
    for (;;) {
      // The run is read first: what it recorded before it ended is then among the events.
      const run = await existingRun(workspace, id);
      for await (const event of eventsOf(source, run, { afterSeq })) {
        afterSeq = event.seq;
        if (event.type === 'progress') progress = event.data as unknown as RunProgress;
        if (terminal.json) await tellEvent(terminal, event);
        else if (event.level !== 'debug')
          view.print(`${event.level === 'info' ? '' : `${event.level}: `}${event.message}`);
      }
      if (!isGoing(run, statusIn(source, run), clock.now()) || terminal.readerGone) return run;
      waited = progress?.datasets.some(({ waiting }) => waiting > 0)
        ? await workspace.store.runs.openWaits(run.no)
        : undefined;
      await sleep(clock, POLL_MS);
    }
  } finally {
    view.stop();
  }
}
