import type { RunProgress, RunWait } from '../../workspace/index.ts';
import { counted, eventsText, shownNumber, shownSeconds } from '../table.ts';
import type { LiveSnapshot, Waited } from './snapshot.ts';

type Dataset = RunProgress['datasets'][number];

const BAR = 24;

/** The live view: a line for each dataset and leg, what is waited for, and the cost. Lines fit into `width`. */
export function liveLines(snapshot: LiveSnapshot, width: number): string[] {
  const { datasets } = snapshot.progress;
  const lines = datasets.flatMap((dataset) => [
    `${dataset.key}  ${bar(dataset)} ${datasetText(dataset, snapshot)}`,
    ...dataset.legs.map((leg) => `  ${leg.path}  ${legText(leg)}`),
    ...slowLines(dataset),
  ]);
  lines.push(costText(snapshot.progress), ...waitTexts(snapshot));
  return lines.map((line) => cut(line, width));
}

/** The same where lines cannot be redrawn: one for each dataset, the cost and the waits in it. */
export function plainLines(snapshot: LiveSnapshot): string[] {
  const { datasets } = snapshot.progress;
  const waits = waitTexts(snapshot)
    .map((wait) => `; ${wait}`)
    .join('');
  if (datasets.length === 0) return [`${costText(snapshot.progress)}${waits}`];
  return datasets.map(
    (dataset) => `${dataset.key}: ${datasetText(dataset, snapshot)}; ${costText(snapshot.progress)}${waits}`,
  );
}

function finished({ completed, failed, skipped }: Dataset): number {
  return completed + failed + skipped;
}

function bar(dataset: Dataset): string {
  const share = dataset.total === 0 ? 0 : finished(dataset) / dataset.total;
  const full = Math.round(share * BAR);
  return `[${'█'.repeat(full)}${'░'.repeat(BAR - full)}]`;
}

function datasetText(dataset: Dataset, { rates }: LiveSnapshot): string {
  const { total, failed, skipped, waiting } = dataset;
  const rate = rates.get(dataset.key) ?? null;
  const left = total - finished(dataset) - waiting;
  const parts = [`${shownNumber(finished(dataset))}/${counted(total, 'row')}`];
  if (failed > 0) parts.push(`${shownNumber(failed)} failed`);
  if (skipped > 0) parts.push(`${shownNumber(skipped)} skipped`);
  if (waiting > 0) parts.push(`${shownNumber(waiting)} waiting`);
  if (rate !== null) parts.push(`${shownNumber(Math.round(rate * 10) / 10)} rows/s`);
  if (rate !== null && rate > 0 && left > 0) parts.push(`ETA ${shownSeconds(left / rate)}`);
  return parts.join('  ');
}

function legText(leg: Dataset['legs'][number]): string {
  const { hits, misses, unavailable, skipped, failed } = leg;
  const parts = [counted(hits, 'hit'), counted(misses, 'miss', 'misses')];
  if (unavailable > 0) parts.push(`${shownNumber(unavailable)} unavailable`);
  if (failed > 0) parts.push(`${shownNumber(failed)} failed`);
  if (skipped > 0) parts.push(`${shownNumber(skipped)} skipped`);
  return parts.join('  ');
}

function slowLines(dataset: Dataset): string[] {
  const [slowest] = dataset.slow;
  if (slowest === undefined) return [];
  const more = dataset.slow.length > 1 ? `, and ${dataset.slow.length - 1} more` : '';
  return [
    `  slow: row ${slowest.ordinal + 1} has been in ${slowest.path} for ${shownSeconds(slowest.sinceMs / 1000)}${more}`,
  ];
}

function costText({ calls, credits }: RunProgress): string {
  const sum = (pick: (one: RunProgress['calls'][string]) => number): number =>
    Object.values(calls).reduce((total, one) => total + pick(one), 0);
  const parts = [
    `${shownNumber(sum((one) => one.live))} live`,
    `${shownNumber(sum((one) => one.receipt))} from receipts`,
  ];
  const coalesced = sum((one) => one.coalesced);
  const journal = sum((one) => one.journal);
  if (coalesced > 0) parts.push(`${shownNumber(coalesced)} coalesced`);
  if (journal > 0) parts.push(`${shownNumber(journal)} replayed`);
  const limit = credits.limit === null ? '' : ` of ${shownNumber(credits.limit)}`;
  return `calls ${parts.join(', ')}; ${shownNumber(credits.settled)}${limit} credits`;
}

const REASONS: Readonly<Record<RunWait['reason'], string>> = {
  pace: 'its declared rate',
  concurrency: 'a free connection',
  gate: 'the provider to take calls again',
  credits: 'reserved credits to settle',
  turn: 'its turn',
};

/** Of the provider's limits, and of events and time. */
function waitTexts({ waits, waited, at }: LiveSnapshot): string[] {
  return [...waits.map((wait) => waitText(wait, at)), ...(waited === undefined ? [] : waitedTexts(waited, at))];
}

function waitedTexts({ events, wakeAt }: Waited, now: number): string[] {
  if (events.length === 0 && wakeAt === null) return [];
  const until =
    wakeAt === null ? '' : ` until ${timeOfDay(wakeAt)} (${shownSeconds(Math.max(0, wakeAt - now) / 1000)})`;
  return [`waiting${events.length === 0 ? '' : ` for ${eventsText(events)}`}${until}`];
}

function waitText(wait: RunWait, now: number): string {
  const until =
    wait.until === null ? '' : ` until ${timeOfDay(wait.until)} (${shownSeconds((wait.until - now) / 1000)})`;
  return `${counted(wait.waiting, 'call')} to ${wait.account} wait${wait.waiting === 1 ? 's' : ''} for ${REASONS[wait.reason]}${until}`;
}

function timeOfDay(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

function cut(line: string, width: number): string {
  const shown = [...line];
  return shown.length <= width ? line : `${shown.slice(0, Math.max(1, width - 1)).join('')}…`;
}
