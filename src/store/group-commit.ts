import type { Clock } from '../scope/index.ts';
import type { Committer, Store, Unit, UnitOutcome } from './port.ts';
import type { Write } from './writes.ts';

/** So that one transaction stays well below 50 ms of the event loop. */
const UNITS_A_GROUP = 2_000;
const BYTES_A_GROUP = 4 * 1024 * 1024;
const DEFER_MS = 20;

export interface CommitterOptions {
  readonly clock: Clock;
  /** Told each unit's failure, once: what opens the persistence breaker, say. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** Bounds of one group; a larger unit goes alone. */
  readonly maxUnits?: number | undefined;
  readonly maxBytes?: number | undefined;
}

interface Waiting {
  readonly unit: Unit;
  readonly deferred: boolean;
  /** Told when the unit is durable; with undefined, so that a deferred unit's `settled` may stand here as well. */
  readonly done: ((error: undefined) => void) | undefined;
  /** Told the unit's own error. */
  readonly failed: ((error: unknown) => void) | undefined;
}

interface Failure {
  readonly error: unknown;
}

interface Flush {
  failure: Failure | undefined;
}

/** Group commit above any store. */
export function createCommitter(store: Store, options: CommitterOptions): Committer {
  return new GroupCommit(store, options);
}

/**
 * Gathers units into groups.
 *
 * Owns: the order of units and the moment a group closes. Does not own: the transaction, retries, what a failure means.
 *
 * Invariants
 *  1. Units reach the store in the order they were handed over, each exactly once.
 *  2. At most one group is under way; the next one gathers meanwhile.
 *  3. A group with a `commit` in it closes at the end of the turn of the event loop, never on a timer; one of deferred
 *     units only, at most 20 ms after the first of them, or after the group that was under way.
 *  4. A waiter is told only after the store has answered for the unit.
 */
class GroupCommit implements Committer {
  readonly #store: Store;
  readonly #options: CommitterOptions;
  #queue: Waiting[] = [];
  #urgent = 0;
  #running = false;
  #turnAsked = false;
  #cancelTimer: (() => void) | undefined;
  readonly #flushes = new Set<Flush>();
  /** The first failure of a deferred unit that no flush has told yet. */
  #deferredFailure: Failure | undefined;

  constructor(store: Store, options: CommitterOptions) {
    this.#store = store;
    this.#options = options;
  }

  commit(unit: Unit): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ unit, deferred: false, done: resolve, failed: reject });
      this.#urgent++;
      this.#schedule();
    });
  }

  defer(unit: Unit, settled?: (error: unknown | undefined) => void): void {
    this.#queue.push({ unit, deferred: true, done: settled, failed: settled });
    this.#schedule();
  }

  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      const flush: Flush = { failure: this.#deferredFailure };
      this.#deferredFailure = undefined;
      this.#flushes.add(flush);
      const settle = (): void => {
        this.#flushes.delete(flush);
        if (flush.failure === undefined) resolve();
        else reject(flush.failure.error);
      };
      // An empty unit never reaches the store, but comes out after all before it.
      this.#queue.push({ unit: [], deferred: false, done: settle, failed: settle });
      this.#urgent++;
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#running || this.#queue.length === 0 || this.#turnAsked) return;
    if (this.#urgent > 0) {
      // The timer would come before the end of the turn, and close the group on half of it.
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
      this.#turnAsked = true;
      setImmediate(() => void this.#run());
    } else {
      this.#cancelTimer ??= this.#options.clock.after(DEFER_MS, () => void this.#run(), { keepAlive: true });
    }
  }

  async #run(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#turnAsked = false;
    this.#running = true;
    const group = this.#nextGroup();
    const outcomes = await this.#outcomes(group);
    let next = 0;
    for (const waiting of group) {
      const outcome = waiting.unit.length === 0 ? undefined : outcomes[next++];
      if (outcome?.ok !== false) {
        waiting.done?.(undefined);
        continue;
      }
      this.#failed(waiting, outcome.error);
      waiting.failed?.(outcome.error);
    }
    this.#running = false;
    this.#schedule();
  }

  async #outcomes(group: readonly Waiting[]): Promise<readonly UnitOutcome[]> {
    const units = group.map((waiting) => waiting.unit).filter((unit) => unit.length > 0);
    if (units.length === 0) return [];
    try {
      return await this.#store.commit(units);
    } catch (error) {
      // The port forbids it; but a waiter that is never told would hang the run.
      return units.map(() => ({ ok: false, error }));
    }
  }

  #failed(waiting: Waiting, error: unknown): void {
    // Units come out in order, so whatever fails while a flush is open was handed over before it.
    for (const flush of this.#flushes) flush.failure ??= { error };
    if (waiting.deferred && this.#flushes.size === 0) this.#deferredFailure ??= { error };
    this.#options.onFailure?.(error);
  }

  #nextGroup(): readonly Waiting[] {
    const { maxUnits = UNITS_A_GROUP, maxBytes = BYTES_A_GROUP } = this.#options;
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      bytes += bytesOf(waiting.unit);
      if (count > 0 && (count >= maxUnits || bytes > maxBytes)) break;
      count++;
    }
    const group = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    for (const waiting of group) if (!waiting.deferred) this.#urgent--;
    return group;
  }
}

/** Roughly what a unit writes, in characters. */
function bytesOf(unit: Unit): number {
  let bytes = 0;
  for (const write of unit) bytes += sizeOf(write);
  return bytes;
}

function sizeOf(write: Write): number {
  const fixed = 200;
  switch (write.kind) {
    case 'receipt':
      return fixed + write.receipt.raw.length + write.receipt.input.length;
    case 'row':
      return fixed + write.row.cells.length + (write.row.trace?.length ?? 0);
    case 'call':
      return fixed + (write.entry.error?.length ?? 0);
    case 'boundary':
      return fixed + write.entry.value.length;
    case 'spool':
      return write.rows.reduce((sum, row) => sum + row.length, fixed);
    case 'frameChunk':
      return fixed + write.keys.byteLength + write.repeats.byteLength;
    case 'event':
      return fixed + write.event.message.length + (write.event.data?.length ?? 0);
    case 'signal':
      return fixed + write.signal.data.length;
    case 'claim':
      return fixed + write.keys.length * 100;
    default:
      return fixed;
  }
}
