import type { RunRecord } from '../store/index.ts';
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
  /** When the run goes on at the latest without any event; null where it does not. */
  readonly wakeAt: string | null;
  readonly events: readonly { readonly event: string; readonly count: number }[];
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
    events,
    open: open
      .flatMap(({ no, event, rowKey, armedAt, deadline, place, path, label }) => {
        if (event === null) return [];
        const inDoubt = doubts.sites.has(siteOf({ place, path, label }));
        return [{ id: `wait_${no}`, event, row: rowKey, since: iso(armedAt) ?? '', until: iso(deadline), inDoubt }];
      })
      .slice(0, LISTED),
  };
}
