import { PHASES, type Phase, quantile, Timings, type TimingsData } from '../observe/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';

/** Milliseconds. */
export interface PhaseJson {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
  readonly total: number;
}

/** By tool, then by phase, in the order in which a call goes through them. */
export type TimingsJson = Readonly<Record<string, Partial<Readonly<Record<Phase, PhaseJson>>>>>;

/** What an attempt writes down where its calls' time went; several of one run add up. */
export const TIMINGS_EVENT = 'timings';

const PAGE = 1_000;

/** Where the time of the run's calls went, over all attempts, but for up to the last ten seconds of one that goes on or was killed. */
export async function timingsOf(source: Pick<ReportSource, 'report'>, run: RunRecord): Promise<TimingsJson> {
  const timings = new Timings();
  for (let afterSeq = 0; ; ) {
    const page = await source.report.events(run.no, { afterSeq, limit: PAGE, type: TIMINGS_EVENT });
    for (const { data } of page) if (data !== null) timings.merge(JSON.parse(data) as TimingsData);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    afterSeq = last.seq;
  }
  const byTool = Object.entries(timings.data()).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(byTool.map(([tool, phases]) => [tool, phasesJson(phases)]));
}

function phasesJson(phases: TimingsData[string]): Partial<Record<Phase, PhaseJson>> {
  const shown: Partial<Record<Phase, PhaseJson>> = {};
  for (const phase of PHASES) {
    const histogram = phases[phase];
    if (histogram === undefined) continue;
    const { count, max, total } = histogram;
    shown[phase] = {
      count,
      p50: tenths(quantile(histogram, 0.5)),
      p95: tenths(quantile(histogram, 0.95)),
      max: tenths(max),
      total: tenths(total),
    };
  }
  return shown;
}

/** Half a millisecond is something, a microsecond is noise. */
function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
