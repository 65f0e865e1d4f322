import type { Permit } from '../governor/index.ts';
import { type Digest, digest, type Place } from '../scope/index.ts';
import type { Effect, JsonValue } from '../sdk/index.ts';
import type { BatchPlace, OperationRecord } from '../store/index.ts';
import { type BatchOptions, batchTool, type CatalogueTool } from '../tool/index.ts';
import type { Asked, Member } from './batch-seat.ts';
import type { DueBatch } from './batches.ts';
import type { Cargo } from './deliver.ts';
import type { CallRun } from './env.ts';
import { operationKeyFor, type Question, receiptKeyOf, subjectOf } from './question.ts';
import type { Tries } from './tries.ts';

export function askedBy(question: Question): Asked {
  const { scope, callId, site, label, input, inputText, inputDigest, receiptKey, timeoutMs, known } = question;
  return {
    ...{ callId, site: site ?? callId, path: scope.path, label, inputDigest, place: scope.place },
    ...{ input, inputText, receiptKey, subject: subjectOf(question), timeoutMs, scope, known },
  };
}

/** What an attempt that died had asked together with others, by its record. */
export function askedBefore(
  run: CallRun,
  question: Question,
  record: OperationRecord & { readonly place: Place; readonly batch: BatchPlace },
): Asked {
  const { tool, effect } = question;
  const { callId, site, path, label, inputDigest, place, batch } = record;
  return {
    ...{ callId, site, path, label, inputDigest, place },
    input: JSON.parse(batch.input) as JsonValue,
    inputText: batch.input,
    receiptKey: receiptKeyOf({ run, tool, version: tool.version, inputDigest, callId, effect }),
    subject: callId,
    timeoutMs: tool.timeoutMs,
    scope: undefined,
    known: undefined,
  };
}

interface LoadOrigin {
  /** Under which key an attempt that died has sent it. */
  readonly before?: { readonly operationKey: string; readonly refusals: number };
  readonly due?: DueBatch;
}

/**
 * Questions that go out as one operation.
 *
 * Owns: who is in it, in which order, and under which key it is on record.
 *
 * Invariant: where it may have been done under its key, neither its members nor their order change (`isBound`).
 */
export class BatchLoad implements Cargo {
  /** The tool that its members ask. */
  readonly of: CatalogueTool;
  readonly tool: CatalogueTool;
  readonly effect: Effect;
  readonly isRecalled: boolean;
  members: readonly Member[];
  /** The operation key that its members' records name, once they do. */
  recordedAs: string | undefined;
  /** Definite refusals so far. */
  refusals = 0;
  /** Under which its members go out. */
  permit: Permit | undefined;
  /** Where it asks for its turn and more may join it. */
  readonly due: DueBatch | undefined;
  readonly #before: { readonly operationKey: string; readonly refusals: number } | undefined;

  constructor(
    of: { readonly tool: CatalogueTool; readonly batch: BatchOptions; readonly effect: Effect },
    members: readonly Member[],
    { before, due }: LoadOrigin = {},
  ) {
    this.of = of.tool;
    this.tool = batchTool(of.tool, of.batch);
    this.effect = of.effect;
    this.members = members;
    this.isRecalled = before !== undefined;
    this.recordedAs = before?.operationKey;
    this.due = due;
    this.#before = before;
  }

  /** The others do not go out with it: what they may cost is given back. */
  reduceTo(members: readonly Member[]): void {
    this.permit?.giveBack((this.members.length - members.length) * this.of.maxCredits);
    this.members = members;
  }

  get input(): JsonValue {
    return this.members.map(({ asked }) => asked.input);
  }

  get timeoutMs(): number {
    return Math.max(...this.members.map(({ asked }) => asked.timeoutMs));
  }

  /** True where all its members ask another provider instead of one that fails. */
  get passesOver(): boolean {
    return this.members.every(({ asked: { scope } }) => scope?.passesOver === true);
  }

  /** True where all its members are of rows. */
  get isParkable(): boolean {
    return this.members.every(({ asked: { place } }) => place.datasetNo !== 0);
  }

  /** True where a later attempt must send the very same batch, or must know that it may have been sent. */
  get isRecorded(): boolean {
    return this.effect !== 'read' || this.tool.sendsIdempotencyKey;
  }

  /** True where it may go out again after nobody knows whether it was done. */
  get isRepeatable(): boolean {
    return this.effect !== 'write' || this.tool.sendsIdempotencyKey;
  }

  isBound(so: Tries | undefined): boolean {
    return this.isRecorded && (so?.unsure ?? false) !== false;
  }

  key(run: CallRun, refusals: number): string {
    if (this.#before?.refusals === refusals) return this.#before.operationKey;
    const subjects = this.members.map(({ asked }) => asked.subject);
    return operationKeyFor(run.runId, refusals, subjects);
  }
}

/** A key that no other answer has. */
export function wholeKey(run: CallRun): Digest {
  return digest(`["batch","${run.runId}","${Buffer.from(run.process.chance.bytes(16)).toString('hex')}"]`);
}
