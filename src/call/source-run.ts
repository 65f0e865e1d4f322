import type { Digest, Place } from '../scope/index.ts';
import type { CallReads, OperationRecord, RunReads, RunRecord } from '../store/index.ts';
import { isFinalFailure } from './failure.ts';
import { Journal } from './journal.ts';

interface SourceRun {
  readonly runId: string;
  readonly runNo: number;
  readonly journal: Journal;
}

/**
 * The runs that this one is a rerun of: the one it was made from, the one that was made from, and so on.
 *
 * Owns: what those runs have recorded of the rows in flight here. Datasets and rows have the same numbers in all of them.
 * Does not own: what is in doubt, which the rerun was given as its own.
 *
 * Invariants
 *  1. The nearest run that has an answer to a call has the say.
 *  2. What failed there is tried again here, unless the play went on past it to a write; what was paid there and could not be read is read again.
 */
export class SourceRuns {
  readonly #runs: readonly [SourceRun, ...SourceRun[]];

  private constructor(first: SourceRun, further: readonly SourceRun[]) {
    this.#runs = [first, ...further];
  }

  /** Undefined for a run that is no rerun. */
  static async open(
    reads: { readonly calls: CallReads; readonly runs: RunReads },
    run: RunRecord,
  ): Promise<SourceRuns | undefined> {
    const runs: SourceRun[] = [];
    for (let at = run; at.replayedFrom !== null; ) {
      const before = await reads.runs.run(at.replayedFrom);
      if (before === undefined) break;
      const journal = new Journal(reads.calls, before.no);
      await journal.open({ retryFailed: true });
      runs.push({ runId: before.id, runNo: before.no, journal });
      at = before;
    }
    const [first, ...further] = runs;
    return first === undefined ? undefined : new SourceRuns(first, further);
  }

  /** The runs' ids, the nearest first. */
  get runIds(): readonly string[] {
    return this.#runs.map(({ runId }) => runId);
  }

  /** The runs' numbers, the nearest first. */
  get runNos(): readonly number[] {
    return this.#runs.map(({ runNo }) => runNo);
  }

  /** The number of the run that this one was made from. */
  get runNo(): number {
    return this.#runs[0].runNo;
  }

  /** Reads what the runs recorded of these rows; the run's own place is read when they are opened. */
  async load(datasetNo: number, ordinals: readonly number[]): Promise<void> {
    await Promise.all(this.#runs.map(({ journal }) => journal.load(datasetNo, ordinals, { retryFailed: true })));
  }

  forget(place: Place): void {
    for (const { journal } of this.#runs) journal.forget(place);
  }

  /** The receipt of the answer that this call had there; undefined where it had none. */
  receiptOf(place: Place, callId: Digest, tool: string): number | undefined {
    for (const { journal } of this.#runs) {
      const entry = journal.entry(place, callId);
      const paid = journal.takeUnsettled(callId, tool);
      const receiptId = entry?.error === null ? entry.receiptId : paid?.receipt.id;
      if (receiptId != null) return receiptId;
    }
    return undefined;
  }

  /** The failure that the play had gone on past there, before it wrote something; undefined where there is none. */
  failureOf(place: Place, callId: Digest): string | undefined {
    for (const { journal } of this.#runs) {
      const entry = journal.entry(place, callId);
      if (entry !== undefined) return entry.error === null || isFinalFailure(entry.error) ? undefined : entry.error;
    }
    return undefined;
  }

  /** How far a write had come there that may go out again under its idempotency key. */
  takeCursor(place: Place, callId: Digest): OperationRecord | undefined {
    for (const { journal } of this.#runs) {
      const operation = journal.takeOperation(place, callId);
      if (operation?.state === 'retrying') return operation;
    }
    return undefined;
  }

  /** The run that first asked a provider for this call: its id is part of what the provider knows the request by. */
  beganIn(place: Place, callId: Digest): string | undefined {
    return this.#runs.findLast(({ journal }) => journal.hasBegun(place, callId))?.runId;
  }

  /** A write that one of the runs made at this very site, and that has not been asked for here. */
  madeAt(place: Place, site: Digest, keyed: boolean): OperationRecord | undefined {
    for (const { journal } of this.#runs) {
      const write = journal.madeAt(place, site, keyed);
      if (write !== undefined) return write;
    }
    return undefined;
  }
}
