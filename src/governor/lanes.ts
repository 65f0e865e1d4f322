import type { Lane, Waiter } from './waiter.ts';

/**
 * Who goes next among the calls that wait for one account: first in first out inside a run, in turns between runs.
 *
 * Owns: one lane for each run that waits, and the order of turns.
 *
 * Invariants
 *  1. A lane is here exactly while it holds a waiter; it takes turns exactly while it is also not held.
 *  2. Inside a lane the order is that of arrival. A waiter that is aborted leaves without a trace.
 *  3. Calls that cost nothing, or have their credits already, have a lane of their own: they need not wait behind what waits for
 *     credits, since what ends by them (a job that is polled, a try whose answer was lost) is what those credits come from.
 *  4. After its turn a lane goes behind all lanes that wait: n waiting runs get a slot each out of any n.
 */
export class Lanes {
  readonly #byName = new Map<string, Lane>();
  readonly #turns: Lane[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whose turn it is; undefined where nobody waits or all lanes are held. */
  get next(): Waiter | undefined {
    return this.#turns[0]?.first;
  }

  add(waiter: Waiter): void {
    const { maxCredits, reserved } = waiter.request;
    const name = nameOf(waiter.runId, maxCredits === 0 || reserved === true);
    let lane = this.#byName.get(name);
    if (lane === undefined) {
      lane = { name, runId: waiter.runId, first: waiter, last: waiter, size: 1, held: false };
      this.#byName.set(name, lane);
      this.#turns.push(lane);
    } else {
      waiter.previous = lane.last;
      lane.last.following = waiter;
      lane.last = waiter;
      lane.size++;
    }
    waiter.lane = lane;
    this.#size++;
  }

  /** Takes the waiter out, and its lane's turn with it where it was the one whose turn it was. */
  remove(waiter: Waiter): void {
    const lane = waiter.lane;
    if (lane === undefined) return;
    const { previous, following } = waiter;
    const hadTurn = this.#turns[0] === lane && previous === undefined;
    waiter.lane = undefined;
    waiter.previous = undefined;
    waiter.following = undefined;
    lane.size--;
    this.#size--;
    if (previous !== undefined) previous.following = following;
    if (following !== undefined) following.previous = previous;
    if (previous === undefined && following === undefined) {
      this.#byName.delete(lane.name);
      if (!lane.held) this.#turns.splice(this.#turns.indexOf(lane), 1);
      return;
    }
    if (previous === undefined && following !== undefined) lane.first = following;
    if (following === undefined && previous !== undefined) lane.last = previous;
    if (hadTurn) {
      this.#turns.shift();
      this.#turns.push(lane);
    }
  }

  /** A lane whose first waiter waits for credits takes no turns, so that other runs go on. */
  hold(lane: Lane): void {
    if (lane.held) return;
    lane.held = true;
    this.#turns.splice(this.#turns.indexOf(lane), 1);
  }

  resume(lane: Lane): void {
    if (!lane.held) return;
    lane.held = false;
    if (lane.size > 0) this.#turns.push(lane);
  }

  *[Symbol.iterator](): Generator<Waiter> {
    for (const lane of this.#byName.values())
      for (let waiter: Waiter | undefined = lane.first; waiter !== undefined; waiter = waiter.following) yield waiter;
  }

  /** One entry for each run that waits; two where calls that cost nothing wait beside others. */
  runs(): readonly Lane[] {
    return [...this.#byName.values()];
  }
}

function nameOf(runId: string, isFree: boolean): string {
  return isFree ? `${runId} free` : runId;
}
