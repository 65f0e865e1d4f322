import type { Place } from '../scope/index.ts';
import type { InDoubtError, JsonValue } from '../sdk/index.ts';
import type { KnownInFamily, OperationRecord, WriteOf } from '../store/index.ts';
import type { CallRun } from './env.ts';
import { doubtError } from './failure.ts';
import { Overtaken } from './family-write.ts';
import { operationKeyOf, type Question } from './question.ts';
import { stopIfOvertaken } from './record.ts';

/** How far the operation of a call has come. */
export interface Progress {
  readonly state: OperationRecord['state'];
  readonly tries: number;
  readonly refusals: number;
  readonly waitUntil: number | null;
}

/** The record of an operation, so that a later attempt knows what this one did. */
export function operationOf(run: CallRun, question: Question, progress: Progress): OperationRecord {
  return {
    callId: question.callId,
    site: question.site ?? question.callId,
    path: question.scope.path,
    label: question.label,
    tool: question.tool.id,
    inputDigest: question.inputDigest,
    operationKey: operationKeyOf(run, question, progress.refusals),
    ...progress,
    answer: null,
    batch: null,
    at: run.process.clock.now(),
  };
}

/** Resolves when the record is on disk. */
export async function keepOperation(run: CallRun, question: Question, progress: Progress): Promise<void> {
  await keepOperations(run, [{ place: question.scope.place, operation: operationOf(run, question, progress) }]);
}

/** Makes it durable that a write goes out now, unless another run of the family was first: throws `Overtaken` then. */
export async function keepIntent(run: CallRun, question: Question, progress: Progress): Promise<void> {
  const { known, scope } = question;
  const operation = operationOf(run, question, progress);
  const [isKept] = await keepOperations(run, [{ place: scope.place, operation, known }]);
  if (isKept !== true) throw overtaken(run);
}

/** What a write is told that another run of the family was first with. */
export function overtaken(run: CallRun): Overtaken {
  run.relatives?.changed();
  return new Overtaken('another run of the family was first');
}

interface OperationToKeep {
  readonly place: Place;
  readonly operation: OperationRecord;
  readonly known?: KnownInFamily | undefined;
}

/**
 * Resolves when the records are on disk, with which of them are: one that another run of the family was first with is not.
 * Rejects with none of them there.
 */
export async function keepOperations(run: CallRun, records: readonly OperationToKeep[]): Promise<readonly boolean[]> {
  const writes = records.map((record): WriteOf<'operation'> => ({ kind: 'operation', fence: run.fence, ...record }));
  try {
    await run.process.committer.commit(writes);
  } catch (error) {
    stopIfOvertaken(run, error);
    throw error;
  }
  return writes.map((write) => write.overtaken !== true);
}

/** What is known of a write that an earlier attempt may have sent. */
export type Settled =
  | { readonly status: 'done'; readonly data: JsonValue }
  | { readonly status: 'notDone' }
  | { readonly status: 'unknown'; readonly error: InDoubtError };

/** What became of an intent that has no outcome: what somebody said, what the provider says, or nobody knows. */
export async function settledIntent(run: CallRun, question: Question, intent: OperationRecord): Promise<Settled> {
  if (intent.state === 'done') return { status: 'done', data: JSON.parse(intent.answer ?? 'null') as JsonValue };
  if (intent.state !== 'intended') return { status: 'notDone' };
  const { tool, input, timeoutMs } = question;
  const { reconcile } = run.process;
  const why = 'An earlier attempt may have sent it, and nobody knows what became of it.';
  if (tool.definition.reconcile === undefined || reconcile === undefined)
    return { status: 'unknown', error: doubtError(question, why) };
  run.assertGoing();
  const { operationKey } = intent;
  const told = await reconcile({ tool, input, operationKey: () => operationKey, timeoutMs, signal: run.signal });
  run.assertGoing();
  if (told.status !== 'unknown') return told;
  return { status: 'unknown', error: doubtError(question, `${why} ${told.message}`) };
}
