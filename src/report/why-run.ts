import { frameName } from '../dataset/index.ts';
import { type Place, roundedCredits } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import { type CallEntry, callName, type FrameRecord, type RunRecord, type ToolTotals } from '../store/index.ts';
import { type AttemptJson, attemptJson } from './attempt-json.ts';
import { type ColumnNames, type CreditPlaces, columnNamesOf, creditPlaces, isInNoCell } from './credit-places.ts';
import { framesOf } from './frames.ts';
import { shellWord } from './next.ts';
import type { ReportSource } from './reads.ts';
import { type UnknownJson, unknownJson } from './unknown-credits.ts';

/** A call that no cell shows, like an attempt at one. */
export interface CallJson extends AttemptJson {
  /** The call's id. */
  readonly call: string;
  /** What the play calls it. */
  readonly label: string;
  /** Null outside rows; else a row's dataset and number, where its column is none of the dataset's any more. */
  readonly dataset: string | null;
  readonly row: string | null;
}

/** What a run did outside cells. */
export interface WhyRunJson {
  readonly run: string;
  readonly credits: CreditPlaces & { readonly settled: number };
  /** How many calls there are, on all pages. */
  readonly total: number;
  /** Those outside rows first, the oldest answer first. */
  readonly calls: readonly CallJson[];
  /** Calls that may have been charged and are not settled, those of cells included: they are no part of `credits`. */
  readonly unknown: UnknownJson;
  /** What the next page begins after; null on the last one. */
  readonly nextCursor: string | null;
  /** Hash of the code that the run has now. */
  readonly codeVersion: string;
  /** Where the rest of the credits is told. */
  readonly next: readonly string[];
}

type Placed = CallEntry & { readonly place: Place };

/** Every call of a run that is in no cell, in pages, and where all its credits went. Throws USAGE for a cursor that is none. */
export async function whyRun(
  source: ReportSource,
  run: RunRecord,
  page: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<WhyRunJson> {
  const frames = await framesOf(source, run);
  const columns = columnNamesOf(frames);
  const totals = await source.report.toolTotals(run.no);
  const places = creditPlaces(totals, columns);
  const after = page.cursor === undefined ? undefined : cursorOf(page.cursor);
  const found: Placed[] = [];
  for await (const call of callsInNoCell(source, run, { frames, columns, totals })) {
    if (after !== undefined && !isAfter(positionOf(call), after)) continue;
    found.push(call);
    if (found.length > page.limit) break;
  }
  const shown = found.slice(0, page.limit);
  const last = shown.at(-1);
  const names = new Map(frames.map((frame) => [frame.datasetNo, frameName(frame)]));
  return {
    run: run.id,
    credits: { settled: roundedCredits(totals.reduce((sum, { credits }) => sum + credits, 0)), ...places },
    total: totals.filter((one) => isInNoCell(one, columns)).reduce((sum, { calls }) => sum + calls, 0),
    calls: shown.map((call) => callJson(call, names)),
    unknown: await unknownJson(source, run, names),
    nextCursor: found.length > page.limit && last !== undefined ? positionOf(last).join(':') : null,
    codeVersion: run.artifact,
    next: await nextOf(source, run, frames),
  };
}

function callJson(call: Placed, names: ReadonlyMap<number, string>): CallJson {
  const { path, label, outcome, place, callId } = call;
  const isOutside = place.datasetNo === 0;
  return {
    call: callName(callId),
    label,
    dataset: isOutside ? null : (names.get(place.datasetNo) ?? null),
    row: isOutside ? null : `#${place.ordinal + 1}`,
    ...attemptJson({ leg: path === '' ? label : path, call, traced: undefined, outcome }),
  };
}

interface Looked {
  readonly frames: readonly FrameRecord[];
  readonly columns: ColumnNames;
  readonly totals: readonly ToolTotals[];
}

const BLOCK = 1_000;

/** Rows are looked through only where their dataset has such calls at all. */
async function* callsInNoCell(
  { calls }: Pick<ReportSource, 'calls'>,
  run: RunRecord,
  { frames, columns, totals }: Looked,
): AsyncGenerator<Placed> {
  const outside = await calls.journal(run.no, 0, [0]);
  yield* oldestFirst(outside.get(0) ?? [], { datasetNo: 0, ordinal: 0 });
  for (const { datasetNo, total } of frames) {
    if (!totals.some((one) => one.datasetNo === datasetNo && isInNoCell(one, columns))) continue;
    for (let from = 0; from < total; from += BLOCK) {
      const ordinals = Array.from({ length: Math.min(BLOCK, total - from) }, (_, index) => from + index);
      const journal = await calls.journal(run.no, datasetNo, ordinals);
      for (const ordinal of ordinals) {
        const stray = (journal.get(ordinal) ?? []).filter(({ path }) => isInNoCell({ datasetNo, path }, columns));
        yield* oldestFirst(stray, { datasetNo, ordinal });
      }
    }
  }
}

function oldestFirst(calls: readonly CallEntry[], place: Place): readonly Placed[] {
  return calls
    .map((call): Placed => ({ ...call, place }))
    .sort((a, b) => a.at - b.at || (a.callId < b.callId ? -1 : 1));
}

type Position = readonly [datasetNo: number, ordinal: number, at: number, callId: string];

function positionOf({ place, at, callId }: Placed): Position {
  return [place.datasetNo, place.ordinal, at, callId];
}

function isAfter(a: Position, b: Position): boolean {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at !== -1 && (a[at] ?? 0) > (b[at] ?? 0);
}

function cursorOf(text: string): Position {
  const match = /^(\d+):(\d+):(\d+):(.+)$/.exec(text);
  if (match === null)
    throw new CallsheetError('USAGE', `'${text}' is no cursor. It is the nextCursor of an earlier page.`, {
      next: ['callsheet why <run>   (the first page)'],
    });
  return [Number(match[1]), Number(match[2]), Number(match[3]), match[4] ?? ''];
}

const NAMED = 3;

/** Cells tell of themselves, and so do the runs that this one has started. */
async function nextOf(source: ReportSource, { id }: RunRecord, frames: readonly FrameRecord[]): Promise<string[]> {
  const rows = frames.slice(0, NAMED).map((frame) => {
    const which = frames.length === 1 ? '' : ` --dataset ${shellWord(frameName(frame))}`;
    return `callsheet why ${id}${which} --row '#1'`;
  });
  const children = (await source.runs.childrenOf(id)).filter(({ parentRunId }) => parentRunId === id);
  return [...rows, ...children.slice(0, NAMED).map((child) => `callsheet why ${child.id}`)];
}
