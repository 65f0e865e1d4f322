import { frameName, type RowError } from '../dataset/index.ts';
import { toJson } from '../scope/index.ts';
import type { RunRecord } from '../store/index.ts';
import { type AnsweredLateJson, type DoubtJson, doubtsOf } from './doubts.ts';
import { framesOf } from './frames.ts';
import { messageKind } from './message-kind.ts';
import type { ReportSource } from './reads.ts';
import { ofRun } from './run-json.ts';
import { saidBy } from './said.ts';

export interface ErrorSample {
  readonly row: string;
  readonly message: string;
  /** The provider's own words, cut short; null where it said none. */
  readonly said: string | null;
}

export interface ErrorGroup {
  readonly dataset: string | null;
  readonly code: string;
  /** The message with what varies from row to row left out. */
  readonly message: string;
  readonly count: number;
  readonly columns: readonly string[];
  /** Up to five rows of the group. */
  readonly samples: readonly ErrorSample[];
  readonly next: readonly string[];
}

export interface ErrorsJson {
  readonly run: string;
  readonly groups: readonly ErrorGroup[];
  readonly failedRows: number;
  /** Writes that may or may not have been done: what `runs resolve` settles. */
  readonly inDoubt: readonly DoubtJson[];
  /** Writes that were in doubt until their answers came after all. */
  readonly answeredLate: readonly AnsweredLateJson[];
  readonly runError: { readonly code: string; readonly message: string; readonly next: readonly string[] } | null;
}

const PAGE = 1000;
const SAMPLES = 5;
/** So many messages of one code in a dataset have a group of their own: errors that authors throw may each say something else. */
const MESSAGES = 20;
const OTHERS = '(other messages)';

/** Failed rows grouped by code and normalised message, the largest group first, with what mends each. */
export async function errorsReport(source: ReportSource, run: RunRecord): Promise<ErrorsJson> {
  const groups = new Map<string, MutableGroup>();
  let failedRows = 0;
  for (const frame of await framesOf(source, run)) {
    for await (const error of failures(source, run, frame.datasetNo)) {
      failedRows++;
      addTo(groups, frameName(frame), error);
    }
  }
  const { operations: inDoubt, answeredLate } = await doubtsOf(source, run);
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count);
  return {
    run: run.id,
    groups: sorted.map((group) => {
      const { retryAt: _, ...shown } = group;
      return { ...shown, columns: [...group.columns], next: nextOf(run, group) };
    }),
    failedRows,
    inDoubt,
    answeredLate,
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
  readonly samples: ErrorSample[];
  readonly next: readonly string[];
  /** The latest of its rows'. */
  retryAt: string | undefined;
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
  const own = messageKind(error.message, error.row);
  const idOf = (message: string): string => `${dataset}|${error.code}|${message}`;
  const isNew = !groups.has(idOf(own));
  const alike = isNew ? [...groups.values()].filter((one) => one.dataset === dataset && one.code === error.code) : [];
  const message = alike.length < MESSAGES ? own : OTHERS;
  const id = idOf(message);
  let group = groups.get(id);
  if (group === undefined) {
    group = {
      dataset,
      code: error.code,
      message,
      count: 0,
      columns: new Set(),
      samples: [],
      next: error.next ?? [],
      retryAt: undefined,
    };
    groups.set(id, group);
  }
  group.count++;
  const retryAt = retryAtOf(error);
  if (retryAt !== undefined && (group.retryAt ?? '') < retryAt) group.retryAt = retryAt;
  group.columns.add(error.column);
  if (group.samples.length < SAMPLES)
    group.samples.push({ row: error.row, message: error.message, said: saidBy(error) });
}

/** When a provider takes calls again, as the error of the row says. */
function retryAtOf({ details }: RowError): string | undefined {
  const at = typeof details === 'object' && details !== null && 'retryAt' in details ? details.retryAt : undefined;
  return typeof at === 'string' ? at : undefined;
}

const AGAIN = 'the same request is refused again. What is bought already is kept.';

/** Codes of calls that fail each time until something else is mended than the provider. */
const MEND: Readonly<Record<string, string>> = {
  PROVIDER_VALIDATION: `Mend what the provider names first, in the tool or in the input (then as a new run): ${AGAIN}`,
  PROVIDER_REJECTED: `Mend what the provider names first, in the tool or in the input (then as a new run): ${AGAIN}`,
  PROVIDER_NOT_FOUND: 'Check the URL of the tool first. Where 404 means "there is none", list it in `noResult`.',
  PROVIDER_CONFLICT: 'See what the provider already has for this request before it is repeated.',
  TOOL_THREW: "Mend the tool's function first: it throws again for the same input.",
};

/** What mends a group. Its rows' own steps come first; the command that runs them again is last, and there once. */
function nextOf(run: RunRecord, group: MutableGroup): readonly string[] {
  const resume = `callsheet runs resume ${run.id} --retry-failed`;
  const own = ofRun(group.next, run.id).filter((step) => !step.includes('runs errors'));
  const others = own.filter((step) => !step.includes('callsheet runs resume'));
  switch (group.code) {
    case 'PROVIDER_EXHAUSTED':
      return [group.retryAt === undefined ? resume : `${resume}   (after ${group.retryAt})`, ...others];
    case 'PROVIDER_RATE_LIMITED':
      return [
        "Declare the provider's limits, in its tool or under `providers` in callsheet.config.ts.",
        ...others,
        resume,
      ];
    case 'IN_DOUBT':
      return [...(group.count === 1 ? own : ['Settle each of the writes in doubt, as said below.']), resume];
    case 'TOOL_CONTRACT': {
      // Rows that failed are read again only where failed rows are run again.
      const mend = own.map((step) => step.replace(/, then: callsheet runs resume \S+$/, '.'));
      return [...mend.filter((step) => !step.includes('callsheet runs resume')), resume];
    }
    default: {
      const isSaid = own.some((step) => step.startsWith(resume));
      const mend = MEND[group.code];
      return [...(mend === undefined ? [] : [mend]), ...(isSaid ? own : [...others, resume])];
    }
  }
}
