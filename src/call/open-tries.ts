import type { Budget, Owed, Permit, PermitOutcome } from '../governor/index.ts';
import type { OpenTry, TryLog } from '../store/index.ts';

/** The credits of a try that may have been charged: the next one under its key takes them over, or they count as spent. */
export type LostTry = Pick<Permit, 'handOver' | 'charge'>;

/** Of which run, in which tree. */
export interface TriedRun {
  readonly id: string;
  readonly rootId: string;
}

/** What a call holds that has not gone on yet. */
interface Held extends LostTry {
  /** The attempt ends, and it has not gone on. */
  leave(): void;
}

/**
 * The paid calls of one attempt that are out at providers, and what such calls hold that an earlier try of theirs has reserved.
 *
 * Owns: what dead attempts had out under a key, or a try of this one whose call was put off, until the call goes on.
 *
 * Invariants
 *  1. A paid call that goes out is on record before, and until its answer is or nobody will ever know; but a write that is in
 *     doubt then, which has a record of its own.
 *  2. What a dead attempt had out without a key is spent; with one it is held for the very call.
 *  3. What is held is given out once. What nobody has asked for when the attempt ends is left as it was.
 */
export class OpenTries {
  readonly #log: TryLog | undefined;
  readonly #run: TriedRun;
  readonly #held = new Map<string, Held>();
  /** Whether what this attempt has kept for another try may have been done, by the key that it goes out with. */
  readonly #kept = new Map<string, boolean>();

  /** @param log undefined where nothing is bought of anybody */
  constructor(log: TryLog | undefined, run: TriedRun) {
    this.#log = log;
    this.#run = run;
  }

  /**
   * Takes up what earlier attempts have left: before anything else is bought.
   *
   * @param unrecorded of these calls, those that nothing else tells of
   */
  async open(budget: Budget, unrecorded: (tries: readonly OpenTry[]) => Promise<ReadonlySet<string>>): Promise<void> {
    if (this.#log === undefined) return;
    const left = (await this.#log.ofRun(this.#run.id)).filter(({ credits }) => credits > 0);
    const unknown = await unrecorded(left);
    const how = new Map<string, 'known' | 'lost' | 'out'>();
    for (const { callId, credits, isKeyed } of left) {
      const so = !unknown.has(callId) ? 'known' : isKeyed ? 'out' : 'lost';
      how.set(callId, so);
      if (so === 'known') continue;
      const owed = budget.owe(credits);
      if (so === 'lost') owed.settle('unknown');
      else this.#held.set(callId, this.#owed(owed, callId));
    }
    if (how.size > 0) await this.#log.take(this.#run.id, how);
  }

  /** What these calls hold of an earlier try, all of them together; undefined where one of them holds nothing. */
  takeHeld(calls: () => readonly OpenTry[]): LostTry | undefined {
    if (this.#held.size === 0) return undefined;
    const callIds = calls().map(({ callId }) => callId);
    const held = callIds.flatMap((callId) => this.#held.get(callId) ?? []);
    for (const callId of callIds) this.#held.delete(callId);
    if (held.length > 0 && held.length === callIds.length) return together(held);
    // They go out with others now, which is another operation.
    for (const one of held) one.charge('unknown');
    return undefined;
  }

  /** The call was put off after a try that may have been charged, and goes on later in this attempt. */
  hold(calls: readonly OpenTry[], lost: LostTry): void {
    const [first, second] = calls;
    if (first === undefined || second !== undefined) lost.charge('unknown');
    else
      this.#held.set(first.callId, {
        handOver: () => lost.handOver(),
        charge: (credits) => lost.charge(credits),
        leave: () => lost.charge('unknown'),
      });
  }

  /** An operation is on record for another try, under this key; `unsure` where it may have been done under it. */
  kept(operationKey: string, unsure: boolean): void {
    this.#kept.set(operationKey, unsure);
  }

  /** Whether what is on record under this key may have been done: of what a dead attempt has kept nobody knows. */
  isUnsure(operationKey: string): boolean {
    return this.#kept.get(operationKey) ?? true;
  }

  /** The permit of tries that go out now: what becomes of it is also on record. Undefined where nothing need be. */
  track(permit: Permit, tries: readonly OpenTry[], isReserved: boolean): TrackedPermit | undefined {
    const log = this.#log;
    const paid = tries.filter(({ credits }) => credits > 0);
    if (log === undefined || paid.length === 0) return undefined;
    const callIds = paid.map(({ callId }) => callId);
    const { id } = this.#run;
    return new TrackedPermit(permit, {
      isReserved,
      sent: () => log.sent(this.#run, paid),
      ended: (how) => void log.ended(id, callIds, how),
    });
  }

  /** The attempt ends. */
  close(): void {
    for (const held of this.#held.values()) held.leave();
    this.#held.clear();
  }

  #owed(owed: Owed, callId: string): Held {
    return {
      handOver: () => owed.handOver(),
      charge: (credits) => {
        owed.settle(credits);
        void this.#log?.ended(this.#run.id, [callId], credits === 'unknown' ? 'lost' : 'known');
      },
      leave: () => {
        owed.release();
        this.#log?.leave(this.#run.id, [callId]);
      },
    };
  }
}

function together(held: readonly LostTry[]): LostTry {
  return {
    handOver: () => {
      for (const one of held) one.handOver();
    },
    charge: (credits) => {
      for (const one of held) one.charge(credits);
    },
  };
}

interface Tracking {
  /** True where its credits come from a try before it, which may have been charged. */
  readonly isReserved: boolean;
  readonly sent: () => Promise<void>;
  readonly ended: (how: 'known' | 'lost') => void;
}

/** Invariant: its tries end once, unless they are handed over. */
export class TrackedPermit implements Permit {
  readonly #permit: Permit;
  readonly #tracking: Tracking;
  #ended = false;

  constructor(permit: Permit, tracking: Tracking) {
    this.#permit = permit;
    this.#tracking = tracking;
  }

  get waitedMs(): number {
    return this.#permit.waitedMs;
  }

  get pacedMs(): number {
    return this.#permit.pacedMs;
  }

  /** Resolves when it is on record that they go out: what else has to be so before, `intended`, before. */
  announced(intended: Promise<void> | undefined): Promise<void> {
    const { sent } = this.#tracking;
    return intended === undefined ? sent() : intended.then(sent);
  }

  dispatched(): void {
    this.#permit.dispatched();
  }

  settle(outcome: PermitOutcome): void {
    this.#permit.settle(outcome);
    if (outcome.credits !== 'later') this.#end(outcome.credits);
  }

  charge(credits: number | 'unknown'): void {
    this.#permit.charge(credits);
    this.#end(credits);
  }

  handOver(): void {
    this.#permit.handOver();
    this.#ended = true;
  }

  release(): void {
    this.#permit.release();
    // It did not go out, which says nothing of the try before it.
    this.#end(this.#tracking.isReserved ? 'unknown' : 0);
  }

  #end(credits: number | 'unknown'): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#tracking.ended(credits === 'unknown' ? 'lost' : 'known');
  }
}
