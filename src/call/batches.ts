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
  readonly send: (members: readonly Member[]) => void;
  /** Calls back once the first of them has waited long enough; what it returns cancels that. */
  readonly afterWait: (over: () => void) => () => void;
}

interface Gathered {
  readonly of: Gathering;
  readonly members: Member[];
  /** What they ask. */
  readonly keys: Set<Digest>;
  readonly cancelTimer: () => void;
}

/**
 * The batches of one attempt.
 *
 * Owns: questions that wait until their batch is sent, and the batches that an attempt which died had sent.
 * Does not own: batches on their way (batch-delivery).
 *
 * Invariants
 *  1. A batch has questions of one tool (so of one account and version), one effect and as many tries; never one question twice.
 *  2. It is sent once it is full, once its wait is over, or once the rows of a pool wait for batches only.
 *  3. What waits when the attempt ends leaves, and was never sent.
 *  4. A batch that may have been sent by an attempt which died is sent again as it was, by the first of its members that asks.
 */
export class Batches {
  readonly crowds = new Crowds(() => this.#sendAll());
  readonly #gathered = new Set<Gathered>();
  readonly #recalled = new Map<string, Promise<readonly Member[] | undefined>>();
  #heedsHalt = false;

  join(member: Member, of: Gathering, halt: AbortSignal): void {
    this.#heed(halt);
    const gathered = this.#gatheredFor(member, of);
    gathered.members.push(member);
    gathered.keys.add(member.asked.receiptKey);
    this.crowds.joins(member.asked.place, of.maxSize);
    if (gathered.members.length >= of.maxSize) this.#send(gathered);
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
    const made: Gathered = { of, members: [], keys: new Set(), cancelTimer: of.afterWait(() => this.#send(made)) };
    this.#gathered.add(made);
    return made;
  }

  #send(gathered: Gathered): void {
    // Its last member may have filled it and the crowd at once.
    if (!this.#gathered.has(gathered)) return;
    this.#take(gathered);
    gathered.of.send(gathered.members);
  }

  #sendAll(): void {
    for (const gathered of [...this.#gathered]) this.#send(gathered);
  }

  #take(gathered: Gathered): void {
    gathered.cancelTimer();
    this.#gathered.delete(gathered);
    for (const { asked } of gathered.members) this.crowds.leaves(asked.place);
  }

  #heed(halt: AbortSignal): void {
    if (this.#heedsHalt) return;
    this.#heedsHalt = true;
    const leave = (): void => {
      for (const gathered of [...this.#gathered]) {
        this.#take(gathered);
        for (const member of gathered.members) member.fail(halt.reason);
      }
    };
    halt.addEventListener('abort', leave, { once: true });
  }
}
