import type { RunRecord, WaitRecord } from '../store/index.ts';
import { type Doubts, siteOf } from './doubts.ts';
import type { ReportSource } from './reads.ts';
import { iso } from './run-json.ts';

/** An event that a waiting run, or one of its rows, has not been given yet. */
export interface OpenWaitJson {
  /** What `callsheet signal --wait` takes. */
  readonly id: string;
  readonly event: string;
  /** The row's key; null outside rows. */
  readonly row: string | null;
  readonly since: string;
  /** When its time is over; null for never. */
  readonly until: string | null;
  /** True where nobody knows whether what asks was sent: `runs errors` says how to settle it. */
  readonly inDoubt: boolean;
}

export interface WaitingJson {
  /** When the run goes on by itself at the latest: a sleep or the time of an event is over, say. Null where it does not. */
  readonly wakeAt: string | null;
  /** With how many wait for each, and when the first of them has waited long enough; null for never. */
  readonly events: readonly { readonly event: string; readonly count: number; readonly until: string | null }[];
  /** The first of the waits for events, in order of arming. */
  readonly open: readonly OpenWaitJson[];
}

const LISTED = 20;
/** Sleeps are read along with events. */
const LOOKED_AT = 1_000;

/** What a waiting run waits for; null for any other. */
export async function waitingOf(
  source: ReportSource,
  run: RunRecord,
  doubts: Pick<Doubts, 'sites'>,
): Promise<WaitingJson | null> {
  if (run.status !== 'waiting') return null;
  const { events } = await source.runs.openWaits(run.no);
  const open = await source.report.waitsOfRuns({ runNo: run.no, limit: LOOKED_AT });
  return {
    wakeAt: iso(run.wakeAt),
    events: events.map(({ event, count }) => ({ event, count, until: iso(firstDeadline(open, event)) })),
    open: open
      .flatMap(({ no, event, rowKey, armedAt, deadline, place, path, label }) => {
        if (event === null) return [];
        const inDoubt = doubts.sites.has(siteOf({ place, path, label }));
        return [{ id: `wait_${no}`, event, row: rowKey, since: iso(armedAt) ?? '', until: iso(deadline), inDoubt }];
      })
      .slice(0, LISTED),
  };
}

function firstDeadline(open: readonly Pick<WaitRecord, 'event' | 'deadline'>[], event: string): number | null {
  const deadlines = open.flatMap((wait) => (wait.event === event && wait.deadline !== null ? [wait.deadline] : []));
  return deadlines.length === 0 ? null : Math.min(...deadlines);
}
