import type { RunReads } from '../../port.ts';
import { waitState } from '../codes.ts';
import type { Reader } from '../reader.ts';

const BY_EVENT = `SELECT event, count(*) AS count, min(deadline) AS deadline FROM waits
  WHERE run_no = ? AND state = ${waitState.number('open')} GROUP BY event ORDER BY event`;

/** What the run waits for: the earliest deadline, and the events by name. */
export function openWaits(reader: Reader, runNo: number): ReturnType<RunReads['openWaits']> {
  return reader.read(() => {
    let wakeAt: number | null = null;
    const events: { event: string; count: number }[] = [];
    for (const { event, count, deadline } of reader.db.all<{
      event: string | null;
      count: number;
      deadline: number | null;
    }>(BY_EVENT, runNo)) {
      if (event !== null) events.push({ event, count });
      if (deadline !== null) wakeAt = Math.min(wakeAt ?? deadline, deadline);
    }
    return { wakeAt, events };
  });
}
