import type { RowError } from '../dataset/index.ts';
import { toJson } from '../scope/index.ts';
import type { RunRecord } from '../store/index.ts';
import { type DoubtJson, operationsInDoubt } from './doubts.ts';
import { framesOf } from './frames.ts';
import type { ReportSource } from './reads.ts';
import { ofRun } from './run-json.ts';

export interface ErrorGroup {
  readonly dataset: string | null;
  readonly code: string;
  /** The message with what varies from row to row left out. */
  readonly message: string;
  readonly count: number;
  readonly columns: readonly string[];
  /** Up to five rows of the group. */
  readonly samples: readonly { readonly row: string; readonly message: string }[];
  readonly next: readonly string[];
}

export interface ErrorsJson {
  readonly run: string;
  readonly groups: readonly ErrorGroup[];
  readonly failedRows: number;
  /** Writes that may or may not have been done: what `runs resolve` settles. */
  readonly inDoubt: readonly DoubtJson[];
  readonly runError: { readonly code: string; readonly message: string; readonly next: readonly string[] } | null;
}

const PAGE = 1000;
const SAMPLES = 5;

/** Failed rows grouped by code and normalised message, the largest group first, with what mends each. */
export async function errorsReport(source: ReportSource, run: RunRecord): Promise<ErrorsJson> {
  const groups = new Map<string, MutableGroup>();
  let failedRows = 0;
  for (const frame of await framesOf(source, run)) {
    for await (const error of failures(source, run, frame.datasetNo)) {
      failedRows++;
      addTo(groups, frame.key, error);
    }
  }
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count);
  return {
    run: run.id,
    groups: sorted.map((group) => ({ ...group, columns: [...group.columns], next: nextOf(run, group) })),
    failedRows,
    inDoubt: await operationsInDoubt(source, run),
    runError: runErrorOf(run),
  };
}

function runErrorOf({ id, error }: RunRecord): ErrorsJson['runError'] {
  if (error === null) return null;
  const told = toJson(JSON.parse(error)) as unknown as NonNullable<ErrorsJson['runError']>;
  return { ...told, next: ofRun(told.next, id) };
}

interface MutableGroup extends Omit<ErrorGroup, 'columns' | 'count' | 'samples' | 'next'> {
  count: number;
  readonly columns: Set<string>;
  readonly samples: { row: string; message: string }[];
  readonly next: readonly string[];
}

async function* failures(source: ReportSource, run: RunRecord, datasetNo: number): AsyncGenerator<RowError> {
  for (let afterOrdinal = -1; ; ) {
    const page = await source.report.failedRows(run.no, datasetNo, { afterOrdinal, limit: PAGE });
    for (const row of page) if (row.error !== null) yield JSON.parse(row.error) as RowError;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    afterOrdinal = last.ordinal;
  }
}

function addTo(groups: Map<string, MutableGroup>, dataset: string, error: RowError): void {
  const message = normalised(error.message);
  const id = `${dataset}|${error.code}|${message}`;
  let group = groups.get(id);
  if (group === undefined) {
    group = { dataset, code: error.code, message, count: 0, columns: new Set(), samples: [], next: error.next ?? [] };
    groups.set(id, group);
  }
  group.count++;
  group.columns.add(error.column);
  if (group.samples.length < SAMPLES) group.samples.push({ row: error.row, message: error.message });
}

/** Addresses, quoted values, ids and numbers vary from row to row; what is left tells the kind of fault. */
function normalised(message: string): string {
  return message
    .replace(/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, '<e-mail>')
    .replace(/https?:\/\/\S+/g, '<url>')
    .replace(/\b[0-9a-f]{8,}(-[0-9a-f]{4,})*\b/gi, '<id>')
    .replace(/\b\d+(\.\d+)?\b/g, '<n>');
}

function nextOf(run: RunRecord, group: MutableGroup): readonly string[] {
  const own = ofRun(group.next, run.id).filter((step) => !step.includes('runs errors'));
  return [...new Set([...own, `callsheet runs resume ${run.id} --retry-failed`])];
}
