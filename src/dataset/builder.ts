import { roundedCredits } from '../scope/index.ts';
import { CallsheetError, type DatasetBuilder, type PlayDataset } from '../sdk/index.ts';
import { type Column, defineColumn, nameOf } from './columns.ts';
import { endRun, never } from './fatal.ts';
import { type OpenedFrame, openFrame } from './frame.ts';
import type { Frame } from './frame-rows.ts';
import { datasetHandle, type RowStream } from './handle.ts';
import type { DatasetHost } from './host.ts';
import { type KeySpec, keySpecOf } from './keys.ts';
import { type DatasetMode, datasetName } from './plan.ts';
import { processRange, rowFailed } from './process.ts';
import { DatasetCounters } from './progress.ts';
import { legOutcomes } from './record.ts';
import { resultStream } from './result.ts';
import type { RowError } from './row-error.ts';
import { checkItems } from './source.ts';

interface RunSettings {
  readonly keySpec: KeySpec;
  readonly mode: DatasetMode;
  readonly onRowError: 'isolate' | 'fail';
  readonly concurrency: number;
  readonly maxParked: number;
}

const DEFAULT_MAX_PARKED = 1000;

/**
 * `ctx.dataset(key, items)`: the start of an author's chain. Nothing is read before `.run()`.
 * Throws `DATASET_DEFINITION_INVALID` (key, items) and `DATASET_NESTED` (inside a row).
 */
export function createDataset(host: DatasetHost, key: unknown, items: unknown): DatasetBuilder<unknown, unknown> {
  const name = nameOf(key, 'dataset');
  if (host.scope.inRow)
    throw new CallsheetError('DATASET_NESTED', `Dataset '${name}' was made inside a row; rows hold no datasets.`, {
      details: { dataset: name, row: host.scope.place.ordinal + 1 },
      next: [
        'Make one dataset of all the inner rows after this one has run, with the outer key as a field.',
        'Or start a run of its own for the row: ctx.runPlayAsync.',
      ],
    });
  checkItems(name, items);
  return builderOf(host, { key: name, items, columns: [] });
}

interface Chain {
  readonly key: string;
  readonly items: unknown;
  readonly columns: readonly Column[];
}

function builderOf(host: DatasetHost, chain: Chain): DatasetBuilder<unknown, unknown> {
  return {
    withColumn(name: unknown, resolver: unknown, options?: unknown) {
      const column = defineColumn(chain.key, { name, resolver, options }, chain.columns);
      return builderOf(host, { ...chain, columns: [...chain.columns, column] }) as never;
    },
    run(options?: unknown) {
      // What may not start is not waited for by the run either.
      if (host.scope.gate.state !== 'open' || !host.admitting()) return host.scope.gate.hold();
      const running = runDataset(host, chain, options);
      host.started(running);
      return running;
    },
  };
}

async function runDataset(host: DatasetHost, chain: Chain, options: unknown): Promise<PlayDataset<unknown>> {
  const settings = settingsOf(host, chain.key, options);
  const legs = chain.columns.flatMap((column) => column.legs);
  const name = datasetName(host.scope.playPath, chain.key);
  const counters = new DatasetCounters(host, name, legs);
  const opened = await openFrame(host, { ...chain, ...settings }, counters);
  if (opened.resumed) await countEarlier(host, opened, { counters, settings });
  const end = await process(host, opened, { chain, settings, counters });
  const { frame } = opened;
  const { datasetNo, total } = frame.record;
  if (end === 'stopped') return never();
  const { completed, failed, skipped } = counters.snapshot();
  host.event({
    type: 'dataset.completed',
    level: failed > 0 ? 'warn' : 'info',
    message: `Dataset '${name}': ${completed} of ${total} rows completed, ${failed} failed, ${skipped} skipped.`,
    datasetNo,
    data: JSON.stringify({ total, completed, failed, skipped }),
  });
  if (isOver(host)) return never();
  return datasetHandle(name, whileOpen(host, resultStream(frame)));
}

async function process(
  host: DatasetHost,
  { frame, resumed }: OpenedFrame,
  what: { readonly chain: Chain; readonly settings: RunSettings; readonly counters: DatasetCounters },
): ReturnType<typeof processRange> {
  const { chain, settings, counters } = what;
  try {
    const range = { from: 0, to: frame.record.total };
    return await processRange(host, { frame, resumed, counters, ...chain, ...settings }, range);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ROW_FAILED') endRun(host, error as never);
    throw error;
  }
}

/** Counts what earlier attempts finished; where one row failed in a dataset that may have none, the run ends here. */
async function countEarlier(
  host: DatasetHost,
  { frame }: OpenedFrame,
  { counters, settings }: { readonly counters: DatasetCounters; readonly settings: RunSettings },
): Promise<void> {
  const { datasetNo, total, admitted } = frame.record;
  const counts = await host.reads.rowCounts(host.runNo, datasetNo);
  const finished = await host.reads.legCounts(host.runNo, datasetNo);
  // What failed is begun anew where it is retried, and what it has paid is settled again.
  const kept = finished.filter(({ state }) => state === 'completed' || host.retryFailed !== true);
  const failed = host.retryFailed === true ? 0 : counts.failed;
  counters.resumed({
    total,
    skipped: total - admitted,
    completed: counts.completed,
    failed,
    begun: counts.completed + counts.failed + counts.parked,
    credits: roundedCredits(kept.reduce((sum, { credits }) => sum + credits, 0)),
    legs: kept.map(({ legs, rows }) => ({ outcomes: legOutcomes(legs), rows })),
  });
  if (failed === 0 || settings.onRowError !== 'fail') return;
  const row = await firstFailed(frame);
  if (row !== undefined) endRun(host, rowFailed(frame, row.ordinal, row.error));
}

async function firstFailed(frame: Frame): Promise<{ readonly ordinal: number; readonly error: RowError } | undefined> {
  const { reads, runNo } = frame;
  const { datasetNo, total } = frame.record;
  const block = 65_536;
  for (let from = 0; from < total; from += block) {
    const states = await reads.rowStates(runNo, datasetNo, from, Math.min(total, from + block));
    const at = states.indexOf(2);
    if (at === -1) continue;
    const [row] = await reads.rows(runNo, datasetNo, { from: from + at, to: from + at + 1, maxBytes: 1 });
    if (row?.error != null) return { ordinal: row.ordinal, error: JSON.parse(row.error) as RowError };
  }
  return undefined;
}

/** True once nothing reaches the author's code any more. */
function isOver(host: DatasetHost): boolean {
  return host.scope.gate.state === 'closed';
}

/** A stream that gives nothing more once the attempt is over, so that author's code does not go on reading. */
function whileOpen(host: DatasetHost, stream: RowStream): RowStream {
  return {
    count: () => (isOver(host) ? never() : stream.count()),
    async *rows(from, limit) {
      for await (const rows of stream.rows(from, limit)) {
        if (isOver(host)) await never();
        yield rows;
      }
    },
  };
}

const KNOWN_OPTIONS = ['key', 'description', 'onRowError', 'mode', 'concurrency', 'maxParked', 'undrawnColumns'];

/** Plays of the hosted product may say more than this release knows: that is no reason not to run them. */
function warnOfUnknown(host: DatasetHost, dataset: string, given: Readonly<Record<string, unknown>>): void {
  const unknown = Object.keys(given).filter((name) => !KNOWN_OPTIONS.includes(name));
  if (unknown.length === 0) return;
  host.event({
    type: 'dataset.unknown_option',
    level: 'warn',
    message: `Dataset '${dataset}': .run() does not know ${unknown.map((name) => `'${name}'`).join(', ')}; known are ${KNOWN_OPTIONS.join(', ')}.`,
    data: JSON.stringify({ dataset, options: unknown }),
  });
}

function settingsOf(host: DatasetHost, dataset: string, options: unknown): RunSettings {
  const refuse = (problem: string, next: string): never => {
    throw new CallsheetError('DATASET_DEFINITION_INVALID', `Dataset '${dataset}': ${problem}.`, {
      details: { dataset },
      next: [next],
    });
  };
  if (options !== undefined && (typeof options !== 'object' || options === null))
    return refuse('.run() takes an object', "Write .run({ key: 'email' }).");
  const given = (options ?? {}) as Readonly<Record<string, unknown>>;
  warnOfUnknown(host, dataset, given);
  const oneOf = <Choice extends string>(name: string, choices: readonly Choice[], otherwise: Choice): Choice => {
    const value = given[name] ?? otherwise;
    const choice = choices.find((one) => one === value);
    return choice ?? refuse(`\`${name}\` is ${JSON.stringify(value)}`, `It is one of: ${choices.join(', ')}.`);
  };
  const count = (name: string, otherwise: number): number => {
    const value = given[name] ?? otherwise;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
    return refuse(`\`${name}\` is ${JSON.stringify(value)}`, 'Give a whole number of rows, 1 or more.');
  };
  return {
    keySpec: keySpecOf(given.key, dataset),
    mode: oneOf('mode', ['upsert', 'net_new'], 'upsert'),
    onRowError: oneOf('onRowError', ['isolate', 'fail'], 'isolate'),
    concurrency: count('concurrency', host.concurrency),
    maxParked: host.planning === true ? Number.POSITIVE_INFINITY : count('maxParked', DEFAULT_MAX_PARKED),
  };
}
