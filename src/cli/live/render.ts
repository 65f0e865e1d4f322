import type { RunProgress, RunWait } from '../../workspace/index.ts';
import { paceText } from '../pace-text.ts';
import { counted, eventsText, shownNumber, shownSeconds } from '../table.ts';
import { ended, type LiveSnapshot, type Waited } from './snapshot.ts';

type Dataset = RunProgress['datasets'][number];
type Leg = Dataset['legs'][number];
type Account = RunProgress['accounts'][number];

const BAR = 24;
const LEG_BAR = 12;

/** The live view: a line for each dataset, leg and account, the cost, and what is waited for. Lines fit into `width`. */
export function liveLines(snapshot: LiveSnapshot, width: number): string[] {
  const { datasets } = snapshot.progress;
  const lines = datasets.flatMap((dataset) => [
    `${dataset.key}  ${bar(finished(dataset), dataset.total, BAR)} ${datasetText(dataset, snapshot)}`,
    ...dataset.legs.map((leg) => `  ${leg.path}  ${legText(leg, dataset, snapshot)}`),
    ...slowLines(dataset),
  ]);
  const accounts = snapshot.progress.accounts.filter(isBusy).map((account) => accountText(account, snapshot.at));
  lines.push(costText(snapshot.progress), ...accounts, ...waitTexts(snapshot));
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

function bar(done: number, total: number, width: number): string {
  const full = total === 0 ? 0 : Math.round(Math.min(1, done / total) * width);
  return `[${'█'.repeat(full)}${'░'.repeat(width - full)}]`;
}

function datasetText(dataset: Dataset, snapshot: LiveSnapshot): string {
  const { total, failed, skipped, waiting } = dataset;
  const parts = [`${shownNumber(finished(dataset))}/${counted(total, 'row')}`];
  if (failed > 0) parts.push(`${shownNumber(failed)} failed`);
  if (skipped > 0) parts.push(`${shownNumber(skipped)} skipped`);
  if (waiting > 0) parts.push(`${shownNumber(waiting)} waiting`);
  parts.push(...rateTexts(dataset.key, total - finished(dataset) - waiting, { dataset, snapshot }));
  if (dataset.credits > 0) parts.push(counted(dataset.credits, 'credit'));
  return parts.join('  ');
}

/** `left` are rows that do not wait. */
function rateTexts(
  id: string,
  left: number,
  { dataset, snapshot }: { readonly dataset: Dataset; readonly snapshot: LiveSnapshot },
): string[] {
  const rate = snapshot.rates.get(id) ?? null;
  if (rate === null) return [];
  const seconds = rate > 0 && left > 0 ? secondsLeft(rate, left, { waiting: dataset.waiting, snapshot }) : undefined;
  const eta = seconds === undefined ? [] : [`ETA ${shownSeconds(seconds)}`];
  return [`${shownNumber(Math.round(rate * 10) / 10)} rows/s`, ...eta];
}

/** Undefined where rows wait past that time, or nobody knows until when: the last row is not ready by then. */
function secondsLeft(
  rate: number,
  left: number,
  { waiting, snapshot }: { readonly waiting: number; readonly snapshot: LiveSnapshot },
): number | undefined {
  if (waiting === 0) return left / rate;
  const seconds = (left + waiting) / rate;
  const wakeAt = snapshot.waited?.wakeAt ?? null;
  return wakeAt === null || wakeAt > snapshot.at + seconds * 1000 ? undefined : seconds;
}

function legText(leg: Leg, dataset: Dataset, snapshot: LiveSnapshot): string {
  const { hits, misses, unavailable, skipped, failed, rejected, credits } = leg;
  const [through, total] = [ended(leg), dataset.total - dataset.skipped];
  const parts = [
    `${bar(through, total, LEG_BAR)} ${counted(hits, 'hit')}`,
    counted(misses, 'miss', 'misses'),
    ...(rejected > 0 ? [`${shownNumber(rejected)} rejected`] : []),
  ];
  if (unavailable > 0) parts.push(`${shownNumber(unavailable)} unavailable`);
  if (failed > 0) parts.push(`${shownNumber(failed)} failed`);
  if (skipped > 0) parts.push(`${shownNumber(skipped)} skipped`);
  // A leg ends when its last row does: rows that failed before it never come.
  const left = total - dataset.completed - dataset.failed - dataset.waiting;
  parts.push(...rateTexts(`${dataset.key}|${leg.path}`, left, { dataset, snapshot }));
  if (credits > 0) parts.push(counted(credits, 'credit'));
  return parts.join('  ');
}

function isBusy({ usedRate, inFlight, waiting, gateClosedUntil, failing }: Account): boolean {
  return usedRate > 0 || inFlight > 0 || waiting > 0 || gateClosedUntil !== null || failing;
}

/** The numbers that the governor decides with. */
function accountText(account: Account, now: number): string {
  const { inFlight, concurrency, deferred, gateClosedUntil, failing, waiting, credits } = account;
  const parts = [
    paceText(account),
    `${shownNumber(inFlight)}${concurrency === null ? '' : ` of ${shownNumber(concurrency)}`} in flight`,
  ];
  if (waiting > 0) parts.push(`${shownNumber(waiting)} waiting`);
  if (deferred > 0) parts.push(`${shownNumber(deferred)} deferred (429)`);
  if (credits > 0) parts.push(counted(credits, 'credit'));
  if (gateClosedUntil !== null) parts.push(`closed${untilText(gateClosedUntil, now)}`);
  if (failing) parts.push('failing: tried at a trickle');
  return `${account.account}  ${parts.join('  ')}`;
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
  const unsent = sum((one) => one.unsent);
  const journal = sum((one) => one.journal);
  if (coalesced > 0) parts.push(`${shownNumber(coalesced)} coalesced`);
  if (unsent > 0) parts.push(`${shownNumber(unsent)} not sent`);
  if (journal > 0) parts.push(`${shownNumber(journal)} replayed`);
  const limit = credits.limit === null ? '' : ` of ${shownNumber(credits.limit)}`;
  const reserved = credits.reserved > 0 ? `, ${shownNumber(credits.reserved)} reserved` : '';
  return `calls ${parts.join(', ')}; ${shownNumber(credits.settled)}${limit} credits${reserved}`;
}

const REASONS: Readonly<Record<RunWait['reason'], string>> = {
  pace: 'its declared rate',
  concurrency: 'a free connection',
  gate: 'the provider to take calls again',
  credits: 'reserved credits to settle',
  turn: 'its turn',
  outage: 'the provider, which mostly fails, to answer a single call again',
};

/** Of the provider's limits, and of events and time. */
function waitTexts({ progress, waited, at }: LiveSnapshot): string[] {
  const waits = progress.accounts.flatMap(({ runs }) => runs);
  return [...waits.map((wait) => waitText(wait, at)), ...(waited === undefined ? [] : waitedTexts(waited, at))];
}

function waitedTexts({ events, wakeAt }: Waited, now: number): string[] {
  if (events.length === 0 && wakeAt === null) return [];
  const until = wakeAt === null ? '' : untilText(wakeAt, now);
  if (events.length === 0) return [`waiting${until}`];
  // A sleep may end before any of the events does, so that the instant is not theirs.
  return [`waiting for ${eventsText(events)}${wakeAt === null ? '' : `, and${until} at most`}`];
}

function waitText(wait: RunWait, now: number): string {
  const until = wait.until === null ? '' : untilText(wait.until, now);
  return `${counted(wait.waiting, 'call')} to ${wait.account} wait${wait.waiting === 1 ? 's' : ''} for ${REASONS[wait.reason]}${until}`;
}

function untilText(until: number, now: number): string {
  return ` until ${timeOfDay(until)} (${shownSeconds(Math.max(0, until - now) / 1000)})`;
}

function timeOfDay(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

function cut(line: string, width: number): string {
  const shown = [...line];
  return shown.length <= width ? line : `${shown.slice(0, Math.max(1, width - 1)).join('')}…`;
}
