import type { Digest, Place } from '../scope/index.ts';
import type { CallReads, RunRecord, WriteInRun } from '../store/index.ts';
import type { MadeWrite } from './journal.ts';

/** As much of a question as tells a write. */
interface AskedWrite extends Pick<MadeWrite, 'callId' | 'label' | 'inputDigest'> {
  readonly tool: { readonly id: string; readonly sendsIdempotencyKey: boolean };
  readonly scope: { readonly path: string; readonly place: Place };
}

interface RecordedWrite extends MadeWrite {
  /** Null where it lies in a run with other datasets and rows. */
  readonly place: Place | null;
  /** Only where its tool sends an idempotency key it may have been made. */
  readonly onlyKeyed: boolean;
}

/**
 * Every write that an attempt must not make again since changed code has moved it: those that its family, and the runs that
 * are connected with it by a start, had made, or may have, when the attempt began.
 *
 * Owns: which of them this attempt has asked for as themselves. Does not own: what is asked for as itself (journal, source).
 *
 * Invariant: a row stays the row it was, so that an equal write of another row of its dataset is no move.
 */
export class RecordedWrites {
  readonly #byInput = new Map<string, RecordedWrite[]>();
  readonly #unasked = new Set<Digest>();

  /** `own`: runs with the same datasets and rows. `elsewhere`: runs with others. */
  static async open(
    reads: CallReads,
    { own, elsewhere }: { readonly own: readonly RunRecord[]; readonly elsewhere: readonly RunRecord[] },
  ): Promise<RecordedWrites> {
    const recorded = new RecordedWrites();
    for (const { no } of own) for (const write of await reads.writesOfRun(no)) recorded.#keep(write, write.place);
    for (const { no } of elsewhere) for (const write of await reads.writesOfRun(no)) recorded.#keep(write, null);
    return recorded;
  }

  /** The attempt has asked for this very call. */
  asked(callId: Digest): void {
    this.#unasked.delete(callId);
  }

  /** A write of the same input that the question may be, from another place in the code. */
  movedFrom(question: AskedWrite): (MadeWrite & { readonly place: Place | null }) | undefined {
    const known = this.#byInput.get(inputOf(question.tool.id, question.inputDigest));
    return known?.find((write) => this.#isMoved(write, question));
  }

  #isMoved(write: RecordedWrite, { scope, callId, tool, label }: AskedWrite): boolean {
    const { place } = write;
    if (write.onlyKeyed && !tool.sendsIdempotencyKey) return false;
    // In a run with other rows it is another one, whatever its call is named.
    if (place === null) return true;
    if (write.callId === callId) return false;
    const isHere = place.datasetNo === scope.place.datasetNo && place.ordinal === scope.place.ordinal;
    // Two places of one row that mean two equal writes cannot be told from one that moved.
    if (isHere && (write.path !== scope.path || write.label !== label)) return true;
    if (!isHere && place.datasetNo === scope.place.datasetNo) return false;
    return this.#unasked.has(write.callId);
  }

  #keep(write: WriteInRun, place: Place | null): void {
    const onlyKeyed = isOnlyKeyed(write);
    if (onlyKeyed === undefined) return;
    const { callId, path, label, tool, inputDigest } = write;
    const input = inputOf(tool, inputDigest);
    const made = { callId, path, label, tool, inputDigest, place, onlyKeyed };
    const known = this.#byInput.get(input);
    if (known === undefined) this.#byInput.set(input, [made]);
    else known.push(made);
    if (place !== null) this.#unasked.add(callId);
  }
}

function inputOf(tool: string, inputDigest: Digest): string {
  return `${tool}|${inputDigest}`;
}

/** Whether a write was made, or may have been, under an idempotency key only; undefined where it was not. */
function isOnlyKeyed({ answered, operation }: WriteInRun): boolean | undefined {
  if (answered || operation?.state === 'done' || operation?.state === 'intended') return false;
  return operation?.state === 'retrying' && operation.refusals === 0 ? true : undefined;
}
