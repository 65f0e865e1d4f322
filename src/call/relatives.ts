import type { Digest, Place } from '../scope/index.ts';
import type { CallInRun, CallReads, KnownInFamily, OperationRecord, RunReads, RunRecord } from '../store/index.ts';

type FamilyReads = { readonly calls: CallReads; readonly runs: RunReads };

/** A run that has sent a write, or may have: `made` where it has its answer. */
export interface SentIn {
  readonly run: RunRecord;
  readonly made: boolean;
  /** The asking run comes from it, and it has sent the write since. */
  readonly isAbove: boolean;
}

/** A run that another comes from, and when the next one down that line was made from it. */
interface Ancestor {
  readonly run: RunRecord;
  readonly leftAt: number;
}

/** What is known of a call in the family, and which runs that are not above the asking one there were then. */
interface Known extends KnownInFamily {
  readonly others: readonly RunRecord[];
}

/** How the asking run sends a write. */
interface Sending {
  /** One that goes out again under its key may have been done, unless it was refused. */
  readonly keyed: boolean;
  /** The record that the run has of it, its own or with the copy of the run it was made from. */
  readonly before: Pick<OperationRecord, 'operationKey'> | undefined;
}

/**
 * The family of a run: all that are reruns of one run, or of each other. Rows, datasets and call ids are the same in all of it.
 *
 * Owns: which runs they are. Does not own: what the runs that this one comes from answer (SourceRuns).
 *
 * Invariants
 *  1. What another run has sent, or may have, is found before this one sends it. Where it is sent in this very moment, or by
 *     a run that was made meanwhile, the store finds it: what was known (`known`) goes with the record of the intent.
 *  2. A doubt that two runs have from a third says nothing of either: only who has sent something itself may have done it.
 */
export class Relatives {
  readonly #reads: FamilyReads;
  readonly #run: RunRecord;
  readonly #line: readonly Ancestor[];
  #others: readonly RunRecord[] | undefined;

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

  /** The id of the run that all of the family comes from. */
  get root(): string {
    return (this.#line.at(-1)?.run ?? this.#run).id;
  }

  /** The family without the run and those it comes from, oldest first. */
  async others(): Promise<readonly RunRecord[]> {
    if (this.#others !== undefined) return this.#others;
    const line = new Set([this.#run, ...this.#line.map(({ run }) => run)].map(({ id }) => id));
    const family = await this.#reads.runs.rerunsOf(this.root);
    this.#others = family.filter(({ id }) => !line.has(id));
    return this.#others;
  }

  /** All of the family, the run included. */
  async all(): Promise<readonly RunRecord[]> {
    return [this.#run, ...this.#line.map(({ run }) => run), ...(await this.others())];
  }

  /** Forgets which runs there are: another one has come. */
  changed(): void {
    this.#others = undefined;
  }

  /** How a call stands in the rest of the family. */
  async known(call: { readonly place: Place; readonly callId: Digest }): Promise<Known> {
    // Another call may forget them while this one reads.
    const others = await this.others();
    const nos = [...this.#line.map(({ run }) => run), ...others].map(({ no }) => no).sort((a, b) => a - b);
    const standing = nos.length === 0 ? [] : await this.#reads.calls.callInRuns(nos, call.place, call.callId);
    return { root: this.root, standing, others };
  }

  /** The run that has sent a call, or may have; undefined where none has, or where all have sent what is sent again. */
  sender({ standing, others }: Known, sending: Sending): SentIn | undefined {
    return senderBeside(standing, others, sending) ?? this.#senderAbove(standing, sending);
  }

  /** True where another run has the answer under this key, and has settled what that cost. */
  isPaidUnder({ standing }: KnownInFamily, operationKey: string): boolean {
    return standing.some(({ answered, operation }) => answered && operation?.operationKey === operationKey);
  }

  /** The key that the call is on record with elsewhere and may go out under again. */
  keyOf({ standing }: KnownInFamily): string | undefined {
    return standing.find(({ operation }) => operation?.state === 'retrying')?.operation?.operationKey;
  }

  /** What a run above had sent before this one was made from it, this one knows: it is answered, or in doubt here as well. */
  #senderAbove(standing: readonly CallInRun[], sending: Sending): SentIn | undefined {
    for (const call of standing) {
      const above = this.#line.find(({ run }) => run.no === call.runNo);
      if (above === undefined || call.inherited || !mayBeMade(call, sending)) continue;
      if (isKnownHere(call, above, sending)) continue;
      return { run: above.run, made: call.answered, isAbove: true };
    }
    return undefined;
  }
}

function senderBeside(
  standing: readonly CallInRun[],
  others: readonly RunRecord[],
  sending: Sending,
): SentIn | undefined {
  for (const call of standing) {
    const run = others.find(({ no }) => no === call.runNo);
    if (run === undefined) continue;
    if (isMade(call)) return { run, made: true, isAbove: false };
    if (!call.inherited && mayBeMade(call, sending)) return { run, made: false, isAbove: false };
  }
  return undefined;
}

/** Whether what a run above has sent is what the run below has a record of. */
function isKnownHere({ operation }: CallInRun, { leftAt }: Ancestor, { keyed, before }: Sending): boolean {
  if (before === undefined || operation === null) return false;
  return operation.at <= leftAt || (keyed && operation.operationKey === before.operationKey);
}

function isMade({ answered, operation }: CallInRun): boolean {
  return answered || operation?.state === 'done';
}

function mayBeMade({ operation }: CallInRun, { keyed }: Sending): boolean {
  if (operation === null) return false;
  const { state, refusals } = operation;
  return state === 'intended' || (keyed && state === 'retrying' && refusals === 0);
}
