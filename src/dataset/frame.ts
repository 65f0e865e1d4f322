import { readStaged, rowMapper } from '../files/index.ts';
import { CallsheetError, NonDeterministicPlayError } from '../sdk/index.ts';
import type { FrameRecord } from '../store/index.ts';
import { Admission, type Admitted } from './admission.ts';
import { type Column, columnPlans, refuseHiding } from './columns.ts';
import { commitOrEnd, endRun } from './fatal.ts';
import type { Frame } from './frame-rows.ts';
import type { DatasetHost } from './host.ts';
import { type KeySpec, keyFields } from './keys.ts';
import {
  type DatasetMode,
  type Definition,
  type FilePlan,
  type FramePlan,
  firstDifference,
  readPlan,
  writePlan,
} from './plan.ts';
import type { DatasetCounters } from './progress.ts';
import { openSource, type Source, spoolText } from './source.ts';

/** What the author's chain comes to. */
export interface DatasetWish {
  readonly key: string;
  readonly items: unknown;
  readonly columns: readonly Column[];
  readonly keySpec: KeySpec;
  readonly mode: DatasetMode;
}

export interface OpenedFrame {
  readonly frame: Frame;
  /** True where an earlier attempt sealed it: rows of it may be finished. */
  readonly resumed: boolean;
}

/**
 * The frame of a dataset: what an earlier attempt sealed, or else the source read whole and written down.
 * Throws `NonDeterministicPlayError` (which ends the run) where the play differs from what was sealed,
 * `ROW_KEY_INVALID`, `ROW_KEY_UNSTABLE`, `ROW_INVALID`, `COLUMN_HIDES_INPUT`, and whatever the source throws.
 */
export async function openFrame(host: DatasetHost, wish: DatasetWish, counters: DatasetCounters): Promise<OpenedFrame> {
  const place = { key: wish.key, playPath: JSON.stringify(host.scope.playPath) };
  if (!host.datasets.claim(place)) throw alreadyOpen(wish.key);
  if (host.replay) await host.datasets.load(host.reads, host.runNo);
  const definition: Definition = { columns: columnPlans(wish.columns), key: wish.keySpec.plan, mode: wish.mode };
  const sealed = await host.datasets.sealed(place);
  try {
    const source = await openSource(wish.key, wish.items);
    const file = source.kind === 'file' ? source.file : undefined;
    if (sealed !== undefined) {
      const record = await fitted(host, sealed, { wish, definition, file });
      counters.datasetNo = record.datasetNo;
      return { frame: frameOf(host, record, readPlan(record)), resumed: true };
    }
    const other = await host.datasets.renamed(place, (plan) => firstDifference(plan, definition, file) === undefined);
    if (other !== undefined && host.codeChanged !== true) endRun(host, keyChanged(other.key, wish.key));
    counters.datasetNo = host.datasets.nextNumber();
    const frame = await admit(host, { wish, source, definition, counters });
    return { frame, resumed: false };
  } catch (error) {
    host.datasets.release(place);
    throw error;
  }
}

function frameOf(host: DatasetHost, record: FrameRecord, plan: FramePlan): Frame {
  return { reads: host.reads, filesDir: host.filesDir, runNo: host.runNo, record, plan };
}

interface AdmitWhat {
  readonly wish: DatasetWish;
  readonly source: Source;
  readonly definition: Definition;
  readonly counters: DatasetCounters;
}

/** Header, rows, seal: a frame without its seal was cut short and is never used. */
async function admit(host: DatasetHost, what: AdmitWhat): Promise<Frame> {
  const { wish, source, definition, counters } = what;
  const { datasetNo } = counters;
  const base = { datasetNo, key: wish.key, playPath: JSON.stringify(host.scope.playPath) };
  const draft: FramePlan = {
    ...definition,
    edition: 1,
    source: source.kind === 'file' ? source.file : { kind: 'spool', starts: [] },
    header: [],
    previous: await previousOf(host, wish),
  };
  const header: FrameRecord = {
    ...base,
    plan: writePlan(draft),
    sealed: false,
    total: 0,
    admitted: 0,
    at: host.clock.now(),
  };
  await commitOrEnd(host, [{ kind: 'frame', fence: host.fence, frame: header }]);
  const admission = new Admission(host, {
    datasetNo,
    key: wish.key,
    keySpec: wish.keySpec,
    mode: wish.mode,
    written: (rows) => counters.admitted(rows),
  });
  const names =
    source.kind === 'file'
      ? await admitFile(host, { wish, file: source.file, admission })
      : await admitValues(host, { wish, source, admission });
  const admitted = await admission.end();
  refuseHiding(wish.key, wish.columns, names);
  const plan: FramePlan = {
    ...draft,
    source: source.kind === 'file' ? source.file : { kind: 'spool', starts: admitted.starts },
    header: names,
  };
  const record: FrameRecord = {
    ...base,
    plan: writePlan(plan),
    sealed: true,
    total: admitted.total,
    admitted: admitted.admitted,
    at: host.clock.now(),
  };
  await commitOrEnd(host, [{ kind: 'frame', fence: host.fence, frame: record }]);
  report(host, record, admitted);
  return frameOf(host, record, plan);
}

/** A pass over the staged rows for their keys only. Columns and key fields are checked before it. */
async function admitFile(
  host: DatasetHost,
  { wish, file, admission }: { readonly wish: DatasetWish; readonly file: FilePlan; readonly admission: Admission },
): Promise<readonly string[]> {
  const names = file.header;
  refuseHiding(wish.key, wish.columns, names);
  refuseUnknownKey(wish, names);
  const map = rowMapper(file.mapping);
  for await (const rows of readStaged(file, { filesDir: host.filesDir, from: 0, to: file.rows }))
    for (const row of rows) if (admission.add(map(row), undefined)) await admission.flush();
  return names;
}

async function admitValues(
  host: DatasetHost,
  from: {
    readonly wish: DatasetWish;
    readonly source: Extract<Source, { kind: 'values' }>;
    readonly admission: Admission;
  },
): Promise<readonly string[]> {
  const { wish, source, admission } = from;
  const names = new Set<string>();
  // A generator may wait for an event like any other code of the play.
  host.waiting.busy(false);
  for await (const piece of source.pieces()) {
    for (const item of piece) {
      const text = spoolText(wish.key, item, admission.size);
      const row = item as Record<string, unknown>;
      for (const name in row) if (row[name] !== undefined) names.add(name);
      if (admission.add(row, text)) await admission.flush();
    }
  }
  host.waiting.busy(true);
  return [...names];
}

/** A key field that no row can have is known before the pass, where the source has a header. */
function refuseUnknownKey(wish: DatasetWish, names: readonly string[]): void {
  const unknown = keyFields(wish.keySpec.plan).find((field) => !names.includes(field));
  if (unknown === undefined) return;
  throw new CallsheetError(
    'DATASET_DEFINITION_INVALID',
    `Dataset '${wish.key}': the key field '${unknown}' is no column of the file. It has ${names.slice(0, 50).join(', ')}.`,
    {
      details: { dataset: wish.key, field: unknown, found: names.slice(0, 200) },
      next: [`Name a column that the file has, or map one: ctx.csv(path, { columns: { ${unknown}: 'Header' } }).`],
    },
  );
}

/** Whose cells `previousCell` shows; asked for only where a column could use them. */
async function previousOf(host: DatasetHost, wish: DatasetWish): Promise<FramePlan['previous']> {
  if (!wish.columns.some((column) => column.spec !== undefined)) return null;
  const found = await host.reads.previousFrame(host.play, wish.key, host.runNo);
  if (found === undefined || found.frame.playPath !== JSON.stringify(host.scope.playPath)) return null;
  return { runNo: found.runNo, datasetNo: found.frame.datasetNo };
}

function report(host: DatasetHost, record: FrameRecord, admitted: Admitted): void {
  const { total, duplicates, notAdmitted, firstDuplicates } = admitted;
  const skipped = [
    ...(duplicates > 0 ? [`${duplicates} repeat the key of an earlier row and are skipped`] : []),
    ...(notAdmitted > 0 ? [`${notAdmitted} were taken by another run`] : []),
  ];
  host.event({
    type: 'dataset.admitted',
    level: duplicates > 0 ? 'warn' : 'info',
    message: `Dataset '${record.key}': ${total} rows${skipped.length > 0 ? `, of which ${skipped.join(' and ')}` : ''}.`,
    datasetNo: record.datasetNo,
    data: JSON.stringify({ total, admitted: record.admitted, duplicates, notAdmitted, firstDuplicates }),
  });
}

interface Now {
  readonly wish: DatasetWish;
  readonly definition: Definition;
  readonly file: FilePlan | undefined;
}

/** The sealed frame as the play defines it now: as it was, or with the columns of code that has changed. */
async function fitted(host: DatasetHost, sealed: FrameRecord, now: Now): Promise<FrameRecord> {
  const { wish, definition, file } = now;
  const plan = readPlan(sealed);
  const difference = firstDifference(plan, definition, file);
  if (difference === undefined) return sealed;
  const { columns } = definition;
  const isOfColumns = firstDifference({ ...plan, columns }, definition, file) === undefined;
  if (host.codeChanged !== true || !isOfColumns) return endRun(host, differs(sealed, difference));
  refuseHiding(wish.key, wish.columns, plan.header);
  const record = { ...sealed, plan: writePlan({ ...plan, columns }), at: host.clock.now() };
  const { datasetNo } = sealed;
  await commitOrEnd(host, [
    { kind: 'frame', fence: host.fence, frame: record },
    { kind: 'forgetRows', fence: host.fence, datasetNo },
  ]);
  host.event({
    type: 'dataset.redefined',
    level: 'warn',
    message: `Dataset '${sealed.key}' has other columns in the code of now (${difference.what}): its rows are run again, and what is recorded answers their calls.`,
    datasetNo,
    data: JSON.stringify({ dataset: sealed.key, ...difference }),
  });
  return record;
}

function differs(
  sealed: FrameRecord,
  difference: NonNullable<ReturnType<typeof firstDifference>>,
): NonDeterministicPlayError {
  const show = (value: unknown): string => JSON.stringify(value) ?? 'none';
  return new NonDeterministicPlayError(
    `Dataset '${sealed.key}' differs from what this run admitted: ${difference.what} was ${show(difference.recorded)} and is now ${show(difference.now)}.`,
    {
      details: { dataset: sealed.key, ...difference },
      next: ['Define datasets from the input alone, not from the clock, chance or other state; then start a new run.'],
    },
  );
}

function keyChanged(recorded: string, now: string): NonDeterministicPlayError {
  return new NonDeterministicPlayError(
    `This run admitted a dataset '${recorded}' that is now called '${now}': its key differs between attempts.`,
    {
      details: { dataset: recorded, what: 'dataset key', recorded, now },
      next: ['Make the key of ctx.dataset of the input alone, not of the clock or chance; then start a new run.'],
    },
  );
}

function alreadyOpen(key: string): CallsheetError {
  return new CallsheetError(
    'DATASET_DEFINITION_INVALID',
    `There is already a dataset '${key}' in this play; rows of the two could not be told apart.`,
    { details: { dataset: key }, next: [`Give each dataset a key of its own, for example \`${key}-\${page}\`.`] },
  );
}
