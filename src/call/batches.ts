import type { Digest } from '../scope/index.ts';
import type { Effect } from '../sdk/index.ts';
import type { CatalogueTool } from '../tool/index.ts';
import { Crowds } from './batch-crowds.ts';
import type { Member } from './batch-seat.ts';
import type { Tries } from './tries.ts';

/** What questions must have in common to go out together, and how they do. */
export interface Gathering {
  readonly tool: CatalogueTool;
  readonly effect: Effect;
  /** How often each of them was tried and refused before. */
  readonly so: Tries | undefined;
  readonly maxSize: number;
  /** They go out as soon as limits let them. */
  readonly send: (batch: DueBatch) => void;
  /** Calls back once the first of them has waited long enough; what it returns cancels that. */
  readonly afterWait: (over: () => void) => () => void;
}

/** A batch that asks for its turn. */
export interface DueBatch {
  /** Until it is closed, more may come. */
  readonly members: readonly Member[];
  /** Its turn has come, or never will. */
  readonly close: () => void;
}

interface Gathered {
  readonly of: Gathering;
  readonly members: Member[];
  /** What they ask. */
  readonly keys: Set<Digest>;
  readonly cancelTimer: () => void;
  isDue: boolean;
}

/**
 * The batches of one attempt.
 *
 * Owns: questions that wait until their batch is sent, and the batches that an attempt which died had sent.
 * Does not own: batches on their way (batch-delivery), and which of those that are due has its turn (governor).
 *
 * Invariants
 *  1. A batch has questions of one tool (so of one account and version), one effect and as many tries; never one question twice.
 *  2. It is due once it is full, once its wait is over, or once the rows of a pool wait for batches only: it asks for its turn.
 *  3. While limits hold back what is due it goes on taking questions until it is full: each of them saves a request.
 *  4. What waits when the attempt ends leaves, and was never sent.
 *  5. A batch that may have been sent by an attempt which died is sent again as it was, by the first of its members that asks.
 */
export class Batches {
  readonly crowds = new Crowds(() => this.#allDue());
  readonly #gathered = new Set<Gathered>();
  readonly #recalled = new Map<string, Promise<readonly Member[] | undefined>>();
  #heedsHalt = false;

  join(member: Member, of: Gathering, halt: AbortSignal): void {
    this.#heed(halt);
    const gathered = this.#gatheredFor(member, of);
    gathered.members.push(member);
    gathered.keys.add(member.asked.receiptKey);
    // What is due is on its way, and its rows will be back.
    if (!gathered.isDue) this.crowds.joins(member.asked.place, of.maxSize);
    if (gathered.members.length < of.maxSize) return;
    this.#gathered.delete(gathered);
    this.#due(gathered);
  }

  /**
   * The batch that went out under this key, sent again by whoever recalls it first; undefined where not all of it is known.
   * What ends without an ending is sent again by whoever recalls it next.
   */
  recall(
    operationKey: string,
    send: () => Promise<readonly Member[] | undefined>,
  ): Promise<readonly Member[] | undefined> {
    let recalled = this.#recalled.get(operationKey);
    if (recalled === undefined) {
      recalled = send();
      this.#recalled.set(operationKey, recalled);
      const forget = (): boolean => this.#recalled.delete(operationKey);
      recalled.then((members = []) => Promise.all(members.map(({ ended }) => ended))).catch(forget);
    }
    return recalled;
  }

  #gatheredFor({ asked }: Member, of: Gathering): Gathered {
    for (const gathered of this.#gathered) {
      const { tool, effect, so } = gathered.of;
      if (tool !== of.tool || effect !== of.effect) continue;
      if (so?.counted !== of.so?.counted || so?.refusals !== of.so?.refusals) continue;
      if (!gathered.keys.has(asked.receiptKey)) return gathered;
    }
    const cancelTimer = of.afterWait(() => this.#due(made));
    const made: Gathered = { of, members: [], keys: new Set(), cancelTimer, isDue: false };
    this.#gathered.add(made);
    return made;
  }

  #due(gathered: Gathered): void {
    if (gathered.isDue) return;
    gathered.isDue = true;
    gathered.cancelTimer();
    for (const { asked } of gathered.members) this.crowds.leaves(asked.place);
    const { of, members } = gathered;
    of.send({ members, close: () => this.#gathered.delete(gathered) });
  }

  #allDue(): void {
    for (const gathered of [...this.#gathered]) this.#due(gathered);
  }

  #heed(halt: AbortSignal): void {
    if (this.#heedsHalt) return;
    this.#heedsHalt = true;
    const leave = (): void => {
      for (const gathered of [...this.#gathered]) {
        this.#gathered.delete(gathered);
        gathered.cancelTimer();
        for (const member of gathered.members) member.fail(halt.reason);
      }
    };
    halt.addEventListener('abort', leave, { once: true });
  }
}
