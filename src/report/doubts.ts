import type { Place } from '../scope/index.ts';
import { callName, isInDoubt, type OperationRecord, type RunRecord } from '../store/index.ts';
import type { ReportSource } from './reads.ts';
import { statusIn } from './run-json.ts';

/** A write that may or may not have been done, and that nothing sends again before somebody says which. */
export interface DoubtJson {
  /** As `runs resolve` takes it. */
  readonly call: string;
  readonly tool: string;
  readonly label: string;
  readonly path: string;
  readonly dataset: string | null;
  /** `#1` is the first row; null outside rows. */
  readonly row: string | null;
  readonly at: string;
  readonly next: readonly string[];
}

const SHOWN_OPERATIONS = 10_000;

export interface Doubts {
  readonly operations: readonly DoubtJson[];
  /** Where they were made, as `siteOf` writes it: what tells the waits whose card is in doubt. */
  readonly sites: ReadonlySet<string>;
}

/** A place in the play and its data. */
export function siteOf({ place, path, label }: Site): string {
  return JSON.stringify([place.datasetNo, place.ordinal, path, label]);
}

interface Site {
  readonly place: Place;
  readonly path: string;
  readonly label: string;
}

/** Writes of a run that are in doubt. Those of a run at work count once they have ended so. */
export async function operationsInDoubt(source: ReportSource, run: RunRecord): Promise<readonly DoubtJson[]> {
  return (await doubtsOf(source, run)).operations;
}

/** The same, with where they were made. */
export async function doubtsOf(source: ReportSource, run: RunRecord): Promise<Doubts> {
  const doubts: DoubtJson[] = [];
  const sites = new Set<string>();
  const isWorkedOn = statusIn(source, run) === 'running';
  let frames: ReadonlyMap<number, string> | undefined;
  for (const operation of await source.report.operationsOfRun(run.no, SHOWN_OPERATIONS)) {
    const { callId, tool, label, path, place, at } = operation;
    if (!(await isOpen(source, run, { operation, place, isWorkedOn }))) continue;
    frames ??= new Map((await source.datasets.frames(run.no)).map((frame) => [frame.datasetNo, frame.key]));
    const resolve = `callsheet runs resolve ${run.id} ${callName(callId)} --as`;
    sites.add(siteOf(operation));
    doubts.push({
      call: callName(callId),
      tool,
      label,
      path,
      dataset: frames.get(place.datasetNo) ?? null,
      row: place.datasetNo === 0 ? null : `#${place.ordinal + 1}`,
      at: new Date(at).toISOString(),
      next: [`${resolve} not-done`, `${resolve} done --data '<its answer as JSON>'`],
    });
  }
  return { operations: doubts, sites };
}

/** One without an end may be on its way right now. */
async function isOpen(
  source: ReportSource,
  run: RunRecord,
  of: { readonly operation: OperationRecord; readonly place: Place; readonly isWorkedOn: boolean },
): Promise<boolean> {
  const { operation, place, isWorkedOn } = of;
  if (operation.state !== 'intended') return false;
  const journal = await source.calls.journal(run.no, place.datasetNo, [place.ordinal]);
  const entry = journal.get(place.ordinal)?.find((one) => one.callId === operation.callId);
  return isInDoubt(operation, entry) && !(entry === undefined && isWorkedOn);
}
