import type { DatasetRow } from '../dataset/index.ts';
import type { RunRecord, WaitRecord } from '../store/index.ts';
import { goOnCommands } from './next.ts';
import type { ReportSource } from './reads.ts';
import { iso, statusIn } from './run-json.ts';

/** Why a row has no end yet, and what goes on with it. */
export interface UnfinishedJson {
  readonly reason: string | null;
  readonly next: readonly string[];
}

/** Of a row that has ended, or repeats another one, there is nothing to say. */
export async function unfinishedJson(
  source: ReportSource,
  run: RunRecord,
  { row, datasetNo }: { readonly row: DatasetRow; readonly datasetNo: number },
): Promise<UnfinishedJson> {
  if (row.state === 'parked') {
    const waits = (await source.runs.waits(run.no, datasetNo, [row.ordinal])).get(row.ordinal) ?? [];
    return parked(
      source,
      run,
      waits.filter(({ state }) => state === 'open'),
    );
  }
  return row.state === 'unfinished' ? notRun(source, run) : { reason: null, next: [] };
}

function parked(source: ReportSource, run: RunRecord, open: readonly WaitRecord[]): UnfinishedJson {
  const status = statusIn(source, run);
  if (status === 'cancelled') return { reason: 'It was parked when the run was cancelled.', next: rerun(run) };
  const goOn = status === 'running' ? [`callsheet runs watch ${run.id}`] : goOnCommands(run);
  if (open.length === 0) return { reason: 'It was parked; what it waited for has come.', next: goOn };
  const events = open.filter(({ event }) => event !== null);
  const signals = events.map(({ no }) => `callsheet signal ${run.id} --wait wait_${no} --data '{…}'`);
  const due = Math.min(...open.map(({ deadline }) => deadline ?? Number.POSITIVE_INFINITY));
  const isDue = !Number.isFinite(due) || due <= source.now();
  const isEarly = status === 'waiting' && events.length === 0 && !isDue;
  return {
    reason: `It is parked: it waits ${open.map(waitText).join(', and ')}.`,
    next: [
      ...signals,
      ...(isEarly ? [`callsheet runs resume ${run.id}   (after ${iso(due)})`, 'callsheet worker'] : goOn),
    ],
  };
}

function waitText({ kind, event, label, deadline }: WaitRecord): string {
  const until = deadline === null ? '' : ` until ${iso(deadline)}`;
  if (event !== null) return `for the event '${event}'${until}`;
  return kind === 'provider' ? `for the provider of ${label} to take calls again${until}` : `in '${label}'${until}`;
}

function notRun(source: ReportSource, run: RunRecord): UnfinishedJson {
  const { id } = run;
  switch (statusIn(source, run)) {
    case 'running':
      return { reason: 'It has no end yet: the run is at work.', next: [`callsheet runs watch ${id}`] };
    case 'interrupted':
      return { reason: 'The run was interrupted before its end.', next: [`callsheet runs resume ${id}`] };
    case 'failed':
      return { reason: `The run ended with ${codeOf(run)} before its end.`, next: goOnCommands(run) };
    case 'cancelled':
      return { reason: 'The run was cancelled before its end.', next: rerun(run) };
    case 'waiting':
      return {
        reason: 'The run waits, and goes on with it later.',
        next: [`callsheet runs show ${id}`, `callsheet runs resume ${id}`],
      };
    case 'queued':
      return { reason: 'The run is queued.', next: [`callsheet runs resume ${id}`, 'callsheet worker'] };
    case 'completed':
      return { reason: 'The run completed without it.', next: rerun(run) };
  }
}

function rerun({ id }: RunRecord): readonly string[] {
  return [`callsheet runs rerun ${id} --failed`];
}

function codeOf({ error }: RunRecord): string {
  const { code } = JSON.parse(error ?? '{}') as { readonly code?: string };
  return code ?? 'an error';
}
