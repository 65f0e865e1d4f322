import { datasetReader, frameName, readPlan } from '../dataset/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { FrameRecord, RunRecord } from '../store/index.ts';
import type { Workspace } from './open.ts';

/** Which rows of a run are meant; several ways together mean all that one of them means, none of them all rows. */
export interface RowChoice {
  /** Rows that failed. */
  readonly failed?: boolean | undefined;
  /** Rows whose cell of this column is null. */
  readonly empty?: string | undefined;
  /** Keys, or `#` and a number; each may hold several with commas between them. */
  readonly rows?: readonly string[] | undefined;
  /** Only datasets that have this column. */
  readonly column?: string | undefined;
  /** The code changes: a column that no dataset has yet is one of any. */
  readonly codeChanges?: boolean | undefined;
}

/** The rows of one dataset that a rerun does again. */
export interface ChosenRows {
  readonly frame: FrameRecord;
  /** Also rows that the source left unfinished, of which there is nothing to keep. */
  readonly ordinals: readonly number[] | 'all';
  /** How many of them the source had completed, and how many not. */
  readonly completed: number;
  readonly others: number;
}

const BLOCK = 65_536;
const READ_BYTES = 1_000_000;
const COMPLETED = 1;
const FAILED = 2;
const PARKED = 3;

/** Throws ROW_NOT_FOUND for a row, and COLUMN_MISSING for a column, that no dataset of the run has. */
export async function chooseRows(
  workspace: Workspace,
  run: RunRecord,
  choice: RowChoice,
): Promise<readonly ChosenRows[]> {
  const frames = (await workspace.store.datasets.frames(run.no)).filter(({ sealed }) => sealed);
  const names = frames.flatMap((frame) => columnsOf(frame));
  const isNew = choice.codeChanges === true && choice.column !== undefined && !names.includes(choice.column);
  const column = isNew ? undefined : choice.column;
  for (const name of [choice.empty, column])
    if (name !== undefined && !names.includes(name)) throw columnMissing(run, name, names);
  const isChosen = choice.failed === true || choice.empty !== undefined || choice.rows !== undefined;
  const named = await rowsNamed(workspace, run, { frames, texts: choice.rows ?? [] });
  const chosen: ChosenRows[] = [];
  for (const frame of frames) {
    const isMeant = column === undefined || columnsOf(frame).includes(column);
    if (isMeant && !isChosen) {
      chosen.push(await allRows(workspace, run, frame));
      continue;
    }
    const ordinals = isMeant ? (named.get(frame.datasetNo) ?? new Set<number>()) : new Set<number>();
    if (isMeant && choice.empty !== undefined && columnsOf(frame).includes(choice.empty))
      await addEmpty(workspace, run, { frame, column: choice.empty, ordinals });
    chosen.push(await withStates(workspace, run, { frame, ordinals, failed: isMeant && choice.failed === true }));
  }
  return chosen;
}

function columnsOf(frame: FrameRecord): readonly string[] {
  return readPlan(frame).columns.map(({ name }) => name);
}

async function allRows({ store }: Workspace, run: RunRecord, frame: FrameRecord): Promise<ChosenRows> {
  const { completed } = await store.datasets.rowCounts(run.no, frame.datasetNo);
  return { frame, ordinals: 'all', completed, others: frame.admitted - completed };
}

interface Chosen {
  readonly frame: FrameRecord;
  readonly ordinals: Set<number>;
}

/** Adds failed rows where they are meant, and parked ones: what they waited for is not theirs in another run. */
async function withStates(
  { store }: Workspace,
  run: RunRecord,
  { frame, ordinals, failed }: Chosen & { readonly failed: boolean },
): Promise<ChosenRows> {
  const { datasetNo, total, admitted } = frame;
  let completed = 0;
  let kept = 0;
  for (let from = 0; from < total; from += BLOCK) {
    const states = await store.datasets.rowStates(run.no, datasetNo, from, Math.min(total, from + BLOCK));
    states.forEach((state, index) => {
      if ((state === FAILED && failed) || state === PARKED) ordinals.add(from + index);
      const isAgain = ordinals.has(from + index);
      if (state === COMPLETED && isAgain) completed++;
      if ((state === COMPLETED || state === FAILED) && !isAgain) kept++;
    });
  }
  return { frame, ordinals: [...ordinals], completed, others: admitted - kept - completed };
}

/** Rows that have a record in which the cell is null, or which ended before it. */
async function addEmpty(
  { store }: Workspace,
  run: RunRecord,
  { frame, column, ordinals }: Chosen & { readonly column: string },
): Promise<void> {
  const at = columnsOf(frame).indexOf(column);
  for (let from = 0; from < frame.total; ) {
    const range = { from, to: frame.total, maxBytes: READ_BYTES };
    const records = await store.datasets.rows(run.no, frame.datasetNo, range);
    for (const { ordinal, cells } of records)
      if (((JSON.parse(cells) as unknown[])[at] ?? null) === null) ordinals.add(ordinal);
    const last = records.at(-1);
    if (last === undefined) return;
    from = last.ordinal + 1;
  }
}

/** The rows that texts name, by dataset: of a row that repeats another, that one. */
async function rowsNamed(
  workspace: Workspace,
  run: RunRecord,
  { frames, texts }: { readonly frames: readonly FrameRecord[]; readonly texts: readonly string[] },
): Promise<ReadonlyMap<number, Set<number>>> {
  const found = new Map<number, Set<number>>(frames.map(({ datasetNo }) => [datasetNo, new Set()]));
  for (const text of texts) {
    // The dataset that knows most of the text is the one that was meant.
    let missing = { row: text, after: 0 };
    let isFound = false;
    for (const frame of frames) {
      const { ordinals, unknown } = await rowsIn(workspace, run, { frame, text });
      if (unknown !== undefined) {
        if (ordinals.length > missing.after) missing = { row: unknown, after: ordinals.length };
        continue;
      }
      for (const ordinal of ordinals) found.get(frame.datasetNo)?.add(ordinal);
      isFound = true;
    }
    if (!isFound) throw rowNotFound(run, missing.row, frames);
  }
  return found;
}

/** The text as one key, or as keys with commas between them, of as many values as the dataset's keys have. */
async function rowsIn(
  { store, paths }: Workspace,
  run: RunRecord,
  { frame, text }: { readonly frame: FrameRecord; readonly text: string },
): Promise<{ readonly ordinals: readonly number[]; readonly unknown: string | undefined }> {
  const reader = datasetReader({ reads: store.datasets, filesDir: paths.files, runNo: run.no, frame });
  const find = async (key: string): Promise<number | undefined> => {
    const ordinal = await reader.findRow(key);
    return ordinal === undefined ? undefined : ((await reader.row(ordinal))?.repeats ?? ordinal);
  };
  const whole = await find(text);
  if (whole !== undefined) return { ordinals: [whole], unknown: undefined };
  const { keyFields } = await reader.shape();
  const pieces = text.split(',');
  const ordinals: number[] = [];
  for (let at = 0; at < pieces.length; ) {
    const one = pieces[at]?.trim() ?? '';
    const several = pieces
      .slice(at, at + Math.max(1, keyFields.length))
      .join(',')
      .trim();
    const ordinal = (await find(several)) ?? (one.startsWith('#') ? await find(one) : undefined);
    if (ordinal === undefined) return { ordinals, unknown: several };
    ordinals.push(ordinal);
    at += one.startsWith('#') ? 1 : Math.max(1, keyFields.length);
  }
  return { ordinals, unknown: undefined };
}

function rowNotFound(run: RunRecord, row: string, frames: readonly FrameRecord[]): CallsheetError {
  const names = frames.map(frameName);
  return new CallsheetError(
    'ROW_NOT_FOUND',
    `No dataset of ${run.id} has a row '${row}' (${names.length === 0 ? 'it has no dataset' : `there is: ${names.join(', ')}`}).`,
    {
      details: { runId: run.id, row, datasets: names },
      next: [`callsheet runs rerun ${run.id} --rows '#1'`, `callsheet runs export ${run.id} -o out.csv`],
    },
  );
}

function columnMissing(run: RunRecord, column: string, names: readonly string[]): CallsheetError {
  const there = names.length === 0 ? 'it has none' : `there is: ${[...new Set(names)].join(', ')}`;
  return new CallsheetError('COLUMN_MISSING', `No dataset of ${run.id} has a derived column '${column}' (${there}).`, {
    details: { runId: run.id, column, columns: names },
    next: [`callsheet runs show ${run.id}`],
  });
}
