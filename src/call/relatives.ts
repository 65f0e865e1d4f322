import type { Digest, Place } from '../scope/index.ts';
import type { CallInRun, CallReads, RunReads, RunRecord } from '../store/index.ts';

/** How long it is taken for known which runs there are (ms). */
const KNOWN_MS = 250;

type FamilyReads = { readonly calls: CallReads; readonly runs: RunReads };

/** A run that has sent a write, or may have: `made` where it has its answer. */
export interface SentIn {
  readonly run: RunRecord;
  readonly made: boolean;
}

/** A run that another comes from, and when the next one down that line was made from it. */
interface Ancestor {
  readonly run: RunRecord;
  readonly leftAt: number;
}

/**
 * The family of a run: all that are reruns of one run, or of each other. Rows, datasets and call ids are the same in all of it.
 *
 * Owns: which runs they are. Does not own: what the runs that this one comes from answer (SourceRuns).
 *
 * Invariants
 *  1. What another run has sent, or may have, is found before this one sends it, also where that run was made meanwhile.
 *  2. A doubt that two runs have from a third says nothing of either: only who has sent something itself may have done it.
 */
export class Relatives {
  readonly #reads: FamilyReads;
  readonly #run: RunRecord;
  readonly #line: readonly Ancestor[];
  #others: readonly RunRecord[] = [];
  #readAt = Number.NEGATIVE_INFINITY;

  private constructor(reads: FamilyReads, run: RunRecord, line: readonly Ancestor[]) {
    this.#reads = reads;
    this.#run = run;
    this.#line = line;
  }

  static async open(reads: FamilyReads, run: RunRecord): Promise<Relatives> {
    const line: Ancestor[] = [];
    for (let at = run; at.replayedFrom !== null; ) {
      const before = await reads.runs.run(at.replayedFrom);
      if (before === undefined) break;
      line.push({ run: before, leftAt: at.createdAt });
      at = before;
    }
    return new Relatives(reads, run, line);
  }

  /** The family without the run and those it comes from, oldest first; read again where that was a while before `now` (ms). */
  async others(now: number): Promise<readonly RunRecord[]> {
    if (now - this.#readAt < KNOWN_MS) return this.#others;
    const line = new Set([this.#run, ...this.#line.map(({ run }) => run)].map(({ id }) => id));
    const family = await this.#reads.runs.rerunsOf((this.#line.at(-1)?.run ?? this.#run).id);
    this.#others = family.filter(({ id }) => !line.has(id));
    this.#readAt = now;
    return this.#others;
  }

  /** How a call stands in the others that have a record of it. */
  async standing(now: number, call: { readonly place: Place; readonly callId: Digest }): Promise<readonly CallInRun[]> {
    const others = await this.others(now);
    if (others.length === 0) return [];
    const nos = others.map(({ no }) => no);
    return this.#reads.calls.callInRuns(nos, call.place, call.callId);
  }

  /** Where a run that this one comes from has sent a call itself since this one, or one between them, was made from it. */
  async sentSince(call: { readonly place: Place; readonly callId: Digest }): Promise<SentIn | undefined> {
    if (this.#line.length === 0) return undefined;
    const nos = this.#line.map(({ run }) => run.no);
    for (const known of await this.#reads.calls.callInRuns(nos, call.place, call.callId)) {
      const above = this.#line.find(({ run }) => run.no === known.runNo);
      const operation = known.inherited ? null : known.operation;
      if (above === undefined || operation?.state !== 'intended' || operation.at <= above.leftAt) continue;
      return { run: above.run, made: known.answered };
    }
    return undefined;
  }

  /** The run that has sent a call, or may have; undefined where none has. */
  sender(known: readonly CallInRun[], keyed: boolean): SentIn | undefined {
    for (const call of known) {
      const run = this.#others.find(({ no }) => no === call.runNo);
      if (run === undefined) continue;
      if (isMade(call)) return { run, made: true };
      if (mayBeMade(call, keyed)) return { run, made: false };
    }
    return undefined;
  }
}

function isMade({ answered, operation }: CallInRun): boolean {
  return answered || operation?.state === 'done';
}

/** `keyed`: one that goes out again under its key may have been done, unless it was refused. */
function mayBeMade({ operation, inherited }: CallInRun, keyed: boolean): boolean {
  if (operation === null || inherited) return false;
  const { state, refusals } = operation;
  return state === 'intended' || (keyed && state === 'retrying' && refusals === 0);
}
