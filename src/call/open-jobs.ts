import type { Digest } from '../scope/index.ts';
import type { Bill } from './open-tries.ts';

/** A job that the provider works on, or has worked on. */
export interface StartedJob {
  readonly handle: string;
  readonly receiptId: number;
  /** When its start was answered (ms). */
  readonly at: number;
  /** How often its start had been refused by this run before. */
  readonly refusals: number;
  /** What it has reserved; undefined of another run's until it was polled by this one. */
  readonly bill: Bill | undefined;
}

/**
 * Jobs of this attempt: those whose calls were put off between two polls, and what all that have not ended have reserved.
 *
 * Invariants
 *  1. A job is taken once, by the call that kept it or by another that asks the same question, so that what it reserved is
 *     settled once.
 *  2. What is not settled when the attempt ends is left then: the next one, which finds the jobs open, reserves it.
 */
export class OpenJobs {
  readonly #owing = new Set<Bill>();
  readonly #jobs: { readonly callId: Digest; readonly started: StartedJob }[] = [];

  /** The same bill, which the end of the attempt leaves where it is not charged by then. */
  owing(bill: Bill): Bill {
    const owed: Bill = {
      charge: (credits) => {
        this.#owing.delete(owed);
        bill.charge(credits);
      },
      leave: () => {
        this.#owing.delete(owed);
        bill.leave();
      },
    };
    this.#owing.add(owed);
    return owed;
  }

  close(): void {
    for (const bill of [...this.#owing]) bill.leave();
  }

  keep(callId: Digest, started: StartedJob): void {
    this.#jobs.push({ callId, started });
  }

  ofCall(callId: Digest): StartedJob | undefined {
    return this.#take((job) => job.callId === callId);
  }

  ofReceipt(receiptId: number): StartedJob | undefined {
    return this.#take(({ started }) => started.receiptId === receiptId);
  }

  #take(is: (job: { readonly callId: Digest; readonly started: StartedJob }) => boolean): StartedJob | undefined {
    const index = this.#jobs.findIndex(is);
    return index === -1 ? undefined : this.#jobs.splice(index, 1)[0]?.started;
  }
}
