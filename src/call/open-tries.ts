import type { Budget, Owed, Permit } from '../governor/index.ts';
import { type Place, roundedCredits } from '../scope/index.ts';
import type { LeftTry, OpenTry, RecordedTry, TakenAs, TryLog } from '../store/index.ts';
import { TrackedPermit } from './tracked-permit.ts';
import type { Tries, Unsure } from './tries.ts';

/** What a call may have cost: reserved, or lost, until that is known. */
export interface Bill {
  charge(credits: number | 'unknown'): void;
  /** The attempt ends before it is known: whoever goes on finds it as it is. */
  leave(): void;
}

/** Tries that go out as one operation. */
export interface Outgoing {
  /** Asked again where some of them may have left before they go out. */
  readonly calls: () => readonly OpenTry[];
  /** Under which key; undefined for a tool that sends none. */
  readonly operationKey: () => string | undefined;
}

/** What the next try of an operation need know, and no record tells. */
export type KeptTry = Pick<Tries, 'unsure' | 'failed' | 'isSuspect'>;

/** What is held for the operation of this key, of these calls together. */
interface Held {
  readonly callIds: readonly string[];
  readonly operationKey: string | undefined;
  readonly lost: LostTry;
}

/** The credits of a try that may have been charged: the next one under its key takes them over, or they count as spent. */
export interface LostTry extends Bill {
  handOver(): void;
}

/** Of which run, in which tree. */
export interface TriedRun {
  readonly id: string;
  readonly rootId: string;
}

/**
 * The paid calls of one attempt that are out at providers, and what such calls hold that an earlier try of theirs has reserved
 * or lost.
 *
 * Owns: what earlier attempts had out or have lost, or a try of this one whose call was put off, until the call goes on.
 *
 * Invariants
 *  1. A paid call that goes out is on record before, and until what it has cost is settled or nobody will ever know.
 *  2. What a dead attempt had out without a key is lost; with one it is held for the very call, as is what it has lost, where
 *     the call is made again. It is handed over to what goes out under that very key, and to nothing else.
 *  3. What is held is given out once. What nobody has asked for when the attempt ends is left as it was.
 */
export class OpenTries {
  readonly #log: TryLog | undefined;
  readonly #run: TriedRun;
  /** For the next try under their keys, by the call. */
  readonly #held = new Map<string, Held>();
  /** Where the calls are that had something out when the attempt began, by dataset. */
  readonly #rows = new Map<number, number[]>();
  /** What was answered, and what is not sent again before somebody says that it was not done. */
  readonly #owed = new Map<string, LostTry>();
  /** What this attempt knows of what it has kept for another try, by the key that it goes out with. */
  readonly #kept = new Map<string, KeptTry>();

  /** @param log undefined where nothing is bought of anybody */
  constructor(log: TryLog | undefined, run: TriedRun) {
    this.#log = log;
    this.#run = run;
  }

  /**
   * Takes up what earlier attempts have left: before anything else is bought.
   *
   * @param recorded what the store knows of these calls; failures that are tried again not
   */
  async open(
    budget: Budget,
    recorded: (tries: readonly LeftTry[]) => Promise<ReadonlyMap<string, RecordedTry>>,
  ): Promise<void> {
    if (this.#log === undefined) return;
    const left = await this.#log.ofRun(this.#run.id);
    const known = await recorded(left);
    const how = new Map<string, TakenAs>();
    for (const { callId, place, operationKey, credits, lost, lostBefore, isOfDay } of left) {
      const record = known.get(callId);
      const so = takenAs(record?.end, operationKey);
      if (credits > 0 || so === 'out') how.set(callId, so);
      const owe = (wasLost?: () => void): Owed =>
        credits > 0 ? budget.owe(credits, wasLost) : budget.lost(roundedCredits(lost - lostBefore), isOfDay, wasLost);
      if (record?.end === 'ended') {
        // No limit has counted what its journal says; what tries before it have lost stays so.
        if (credits > 0) owe().settle(record.credits);
        else if (lost > lostBefore) this.#bill(callId, 'lost', owe).charge(record.credits);
        continue;
      }
      const owed = so === 'lost' ? owe() : undefined;
      owed?.settle('unknown');
      if (so === 'out') this.#holds(place);
      const bill = this.#bill(callId, so === 'lost' ? so : 'out', (wasLost) => owed ?? held(owe(wasLost)));
      if (so === 'out' && record?.end !== 'answered')
        this.#held.set(callId, { callIds: [callId], operationKey, lost: bill });
      else this.#owed.set(callId, bill);
    }
    if (how.size > 0) await this.#log.take(this.#run.id, how);
  }

  /** Rows whose calls hold what others wait for, since the attempt began. */
  rowsOf(datasetNo: number): readonly number[] {
    return this.#rows.get(datasetNo) ?? [];
  }

  /** What this call may have cost in an earlier attempt, now that it is known: given out once. */
  billOf(callId: string): Bill | undefined {
    const owed = this.#owed.get(callId);
    this.#owed.delete(callId);
    const held = this.#held.get(callId);
    if (held === undefined) return owed;
    this.#release(held);
    if (held.callIds.length === 1) return owed ?? held.lost;
    // What one of them has cost says nothing of the others.
    held.lost.charge('unknown');
    return owed;
  }

  /** True where no earlier attempt has left anything open. */
  get isEmpty(): boolean {
    return this.#held.size + this.#owed.size === 0;
  }

  /** True where one of these calls holds what an earlier try of it has reserved or lost. */
  holdsAny(calls: () => readonly OpenTry[]): boolean {
    return this.#held.size > 0 && calls().some(({ callId }) => this.#held.has(callId));
  }

  /** What these tries hold of earlier ones under their key, all of them together; undefined where one of them holds nothing. */
  takeHeld({ calls, operationKey }: Outgoing): LostTry | undefined {
    if (this.#held.size === 0) return undefined;
    const callIds = calls().map(({ callId }) => callId);
    const held = [...new Set(callIds.flatMap((callId) => this.#held.get(callId) ?? []))];
    if (held.length === 0) return undefined;
    for (const one of held) this.#release(one);
    const key = operationKey();
    const areAll = held.reduce((sum, one) => sum + one.callIds.length, 0) === callIds.length;
    if (areAll && held.every((one) => one.operationKey === key)) return together(held.map(({ lost }) => lost));
    // What goes out now is another operation, and charged besides.
    for (const { lost } of held) lost.charge('unknown');
    return undefined;
  }

  /** The calls were put off after a try that may have been charged, and go on later in this attempt. */
  hold({ calls, operationKey }: Outgoing, lost: LostTry): void {
    const callIds = calls().map(({ callId }) => callId);
    const held = { callIds, operationKey: operationKey(), lost };
    for (const callId of callIds) this.#held.set(callId, held);
  }

  /** An operation is on record for another try, under this key. */
  kept(operationKey: string, { unsure, failed, isSuspect }: KeptTry): void {
    this.#kept.set(operationKey, { unsure, failed, isSuspect });
  }

  /** Whether what is on record under this key may have been done: of what a dead attempt has kept nobody knows. */
  isUnsure(operationKey: string): Unsure {
    return this.#kept.get(operationKey)?.unsure ?? 'perhaps';
  }

  /** How what is on record under this key has failed in this attempt. */
  failedAs(operationKey: string): Pick<Tries, 'failed' | 'isSuspect'> {
    const { failed, isSuspect } = this.#kept.get(operationKey) ?? {};
    return { failed, isSuspect };
  }

  /**
   * The permit of tries that go out now: what becomes of it is also on record. Undefined where nothing need be.
   *
   * @param isReserved true where its credits come from a try before it, which may have been charged
   */
  track(permit: Permit, { calls, operationKey }: Outgoing, isReserved: boolean): TrackedPermit | undefined {
    const log = this.#log;
    const paidOf = (tries: readonly OpenTry[]): readonly OpenTry[] => tries.filter(({ credits }) => credits > 0);
    let paid = paidOf(calls());
    if (log === undefined || paid.length === 0) return undefined;
    const callIds = (): readonly string[] => paid.map(({ callId }) => callId);
    const { id } = this.#run;
    let key: string | undefined;
    return new TrackedPermit(permit, {
      isReserved,
      key: () => key,
      reduced: () => {
        paid = paidOf(calls());
      },
      sent: () => {
        key = operationKey();
        return log.sent(this.#run, paid, key);
      },
      ended: (how) => void log.ended(id, callIds(), how),
      left: () => log.leave(id, callIds()),
    });
  }

  /**
   * The bill of one call of several that went out with this permit, which is settled by these alone. What nobody waits for
   * counts as spent meanwhile: others must not wait for it.
   */
  part(
    budget: Budget,
    permit: Permit,
    { callId, most, isAwaited }: { readonly callId: string; readonly most: number; readonly isAwaited: boolean },
  ): Bill {
    const part = this.#partOf(permit, { callId, most });
    if (isAwaited || most === 0) return part;
    part.charge('unknown');
    const lost = this.#bill(callId, 'lost', () => budget.lost(most, true));
    return {
      ...lost,
      charge: (credits) => {
        lost.charge(credits === 'unknown' ? credits : 0);
        if (credits !== 'unknown') permit.chargePart(0, credits);
      },
    };
  }

  #partOf(permit: Permit, { callId, most }: { readonly callId: string; readonly most: number }): Bill {
    const ended = this.#ended(callId);
    return {
      charge: (credits) => {
        if (most > 0) ended.charge(credits);
        permit.chargePart(most, credits);
      },
      leave: () => {
        if (most > 0) ended.leave();
        permit.chargePart(most, 0);
      },
    };
  }

  /** The attempt ends. */
  close(): void {
    for (const { lost } of new Set(this.#held.values())) lost.leave();
    for (const owed of this.#owed.values()) owed.leave();
    this.#held.clear();
    this.#owed.clear();
  }

  #release({ callIds }: Held): void {
    for (const callId of callIds) this.#held.delete(callId);
  }

  #holds({ datasetNo, ordinal }: Place): void {
    const rows = this.#rows.get(datasetNo);
    if (rows === undefined) this.#rows.set(datasetNo, [ordinal]);
    else rows.push(ordinal);
  }

  /** The bill of a call whose record and whose debt say the same: `out` and reserved, or `lost` and spent. */
  #bill(callId: string, as: 'out' | 'lost', owe: (wasLost: () => void) => Owed): LostTry {
    const ended = this.#ended(callId);
    let now: 'out' | 'lost' | 'over' = as;
    const owed = owe(() => {
      if (now === 'out') ended.charge('unknown');
      now = 'lost';
    });
    return {
      handOver: () => {
        if (now === 'lost') this.#log?.again(this.#run.id, callId);
        now = 'over';
        owed.handOver();
      },
      charge: (credits) => {
        if (credits !== 'unknown') {
          if (now === 'out') ended.charge(credits);
          if (now === 'lost') this.#log?.found(this.#run.id, callId);
          now = 'over';
        }
        owed.settle(credits);
      },
      leave: () => {
        if (now === 'out') ended.leave();
        now = 'over';
        owed.release();
      },
    };
  }

  /** What becomes of the record of a call that is out. */
  #ended(callId: string): Bill {
    const { id } = this.#run;
    return {
      charge: (credits) => void this.#log?.ended(id, [callId], credits === 'unknown' ? 'lost' : 'known'),
      leave: () => this.#log?.leave(id, [callId]),
    };
  }
}

/** What becomes of what a dead attempt has left of a call with this record. */
function takenAs(end: RecordedTry['end'] | undefined, operationKey: string | undefined): TakenAs {
  if (end === 'ended') return 'known';
  return end === 'answered' || (operationKey !== undefined && end === undefined) ? 'out' : 'lost';
}

function held(owed: Owed): Owed {
  owed.hold();
  return owed;
}

function together(held: readonly LostTry[]): LostTry {
  const all = (each: (one: LostTry) => void): void => {
    for (const one of held) each(one);
  };
  return {
    handOver: () => all((one) => one.handOver()),
    charge: (credits) => all((one) => one.charge(credits)),
    leave: () => all((one) => one.leave()),
  };
}
