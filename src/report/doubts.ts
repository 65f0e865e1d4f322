import { frameName } from '../dataset/index.ts';
import type { Place } from '../scope/index.ts';
import {
  type CallEntry,
  callName,
  isInDoubt,
  jobOfStart,
  type OperationRecord,
  type RunRecord,
  receiptName,
  type StoredReceipt,
} from '../store/index.ts';
import { framesOf } from './frames.ts';
import type { ReportSource } from './reads.ts';
import { resumeCommands } from './resume-commands.ts';
import { type ShownStatus, statusIn } from './run-json.ts';

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

/** A write that was in doubt until its answer came after all: it was done, and the run takes that answer when it goes on. */
export interface AnsweredLateJson extends DoubtJson {
  /** The answer. */
  readonly receiptId: string;
}

const SHOWN_OPERATIONS = 10_000;

/**
 * Why nobody knows what a call has cost: a write in doubt; an answer that was lost; a request that was out when its process
 * died; an answer, or the start of a job, that was recorded and not settled.
 */
export type UnknownWhy = 'in_doubt' | 'answer_lost' | 'out' | 'not_settled';

/** A call that may have been charged, and whose credits are not settled. */
export interface UnknownCall {
  readonly callId: string;
  readonly tool: string;
  /** Null where only its answer is known. */
  readonly place: Place | null;
  /** The most that it may have cost. */
  readonly credits: number;
  readonly why: UnknownWhy;
}

export interface Doubts {
  readonly operations: readonly DoubtJson[];
  readonly answeredLate: readonly AnsweredLateJson[];
  /** Where those in doubt were made, as `siteOf` writes it: what tells the waits whose card is in doubt. */
  readonly sites: ReadonlySet<string>;
  /** Calls of which somebody has said that they were not done. */
  readonly notDone: ReadonlySet<string>;
  /** Calls that are in doubt, or were bought or begun, and are not settled: each once. */
  readonly unsettled: readonly UnknownCall[];
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

type Operation = OperationRecord & { readonly place: Place };

/** Writes of a run that are in doubt. Those of a run at work count once they have ended so. */
export async function operationsInDoubt(source: ReportSource, run: RunRecord): Promise<readonly DoubtJson[]> {
  return (await doubtsOf(source, run)).operations;
}

/** The same, with where they were made, what they may cost, and those that were answered after all. */
export async function doubtsOf(source: ReportSource, run: RunRecord): Promise<Doubts> {
  const status = statusIn(source, run);
  const open: Operation[] = [];
  const operations = await source.report.operationsOfRun(run.no, SHOWN_OPERATIONS);
  for (const operation of operations) if (await isOpen(source, run, { operation, status })) open.push(operation);
  // What a run at work has bought and not settled it settles by itself.
  const receipts = status === 'running' && open.length === 0 ? [] : await source.calls.unsettledReceipts(run.no);
  const answers = new Map(receipts.filter(isAnswer).map((receipt) => [receipt.callId, receipt]));
  const frames = await framesByNumber(source, run, open);
  const inDoubt = open.filter(({ callId }) => !answers.has(callId));
  const answeredLate = open.flatMap((operation) => {
    const answer = answers.get(operation.callId);
    return answer === undefined ? [] : [{ operation, receiptId: receiptName(answer.id) }];
  });
  const resume = answeredLate.length === 0 ? [] : resumeCommands(run, status, await failedRows(source, run));
  return {
    operations: inDoubt.map((operation) => {
      const resolve = `callsheet runs resolve ${run.id} ${callName(operation.callId)} --as`;
      const next = [`${resolve} not-done`, `${resolve} done --data '<its answer as JSON>'`];
      return { ...operationJson(operation, frames), next };
    }),
    answeredLate: answeredLate.map(({ operation, receiptId }) => ({
      ...operationJson(operation, frames),
      receiptId,
      next: [...resume, `callsheet receipts show ${receiptId}`],
    })),
    sites: new Set(inDoubt.map(siteOf)),
    notDone: new Set(operations.filter(({ state }) => state === 'notDone').map(({ callId }) => callId)),
    // What a rerun was given counts where it was sent.
    unsettled: await unsettledOf(source, run, {
      inDoubt: open.filter(({ isInherited }) => isInherited !== true),
      bought: receipts.filter((each) => isUnaccounted(each, status)),
    }),
  };
}

/** False for the start of a provider's job, which answers no call. */
function isAnswer({ tool }: StoredReceipt): boolean {
  return jobOfStart(tool) === undefined;
}

/**
 * Whether the run may still come to settle it, or has lost sight of it. What a process that was overtaken has bought of a run
 * that is complete, the run has from somebody else.
 */
function isUnaccounted(receipt: StoredReceipt, status: ShownStatus): boolean {
  return status !== 'running' && (status !== 'completed' || !isAnswer(receipt));
}

/** A call counts once: a job whose end cannot be read has the receipt of its start, too. */
async function unsettledOf(
  { maxCreditsOf, priceAboveMax }: ReportSource,
  { error }: RunRecord,
  { inDoubt, bought }: { readonly inDoubt: readonly Operation[]; readonly bought: readonly StoredReceipt[] },
): Promise<readonly UnknownCall[]> {
  const calls = new Map<string, UnknownCall>();
  // Only a run that ended for it has answers that cost more than their tool said that they may.
  const isBroken = error !== null && (JSON.parse(error) as { readonly code?: unknown }).code === 'TOOL_CONTRACT';
  for (const receipt of bought) {
    const { callId, tool } = receipt;
    const price = isBroken ? await priceAboveMax(receipt) : undefined;
    calls.set(callId, { callId, tool, place: null, credits: price ?? maxCreditsOf(tool), why: 'not_settled' });
  }
  for (const { callId, tool, place } of inDoubt)
    calls.set(callId, { callId, tool, place, credits: maxCreditsOf(tool), why: 'in_doubt' });
  return [...calls.values()].filter(({ credits }) => credits > 0);
}

/** Rows of a run that failed. */
export async function failedRows(source: ReportSource, run: RunRecord): Promise<number> {
  const counts = (await framesOf(source, run)).map((frame) => source.datasets.rowCounts(run.no, frame.datasetNo));
  return (await Promise.all(counts)).reduce((sum, { failed }) => sum + failed, 0);
}

async function framesByNumber(
  source: ReportSource,
  run: RunRecord,
  operations: readonly Operation[],
): Promise<ReadonlyMap<number, string>> {
  if (operations.length === 0) return new Map();
  return new Map((await source.datasets.frames(run.no)).map((frame) => [frame.datasetNo, frameName(frame)]));
}

function operationJson(
  { callId, tool, label, path, place, at }: Operation,
  frames: ReadonlyMap<number, string>,
): Omit<DoubtJson, 'next'> {
  return {
    call: callName(callId),
    tool,
    label,
    path,
    dataset: frames.get(place.datasetNo) ?? null,
    row: place.datasetNo === 0 ? null : `#${place.ordinal + 1}`,
    at: new Date(at).toISOString(),
  };
}

/** One without an end may be on its way right now. */
async function isOpen(
  source: ReportSource,
  run: RunRecord,
  { operation, status }: { readonly operation: Operation; readonly status: ShownStatus },
): Promise<boolean> {
  const { state, place, callId } = operation;
  if (state !== 'intended') return false;
  const journal = await source.calls.journal(run.no, place.datasetNo, [place.ordinal]);
  const entry: CallEntry | undefined = journal.get(place.ordinal)?.find((one) => one.callId === callId);
  return isInDoubt(operation, entry) && !(entry === undefined && status === 'running');
}
