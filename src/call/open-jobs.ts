import type { Digest } from '../scope/index.ts';
import type { Found } from './found.ts';

/** A job that the provider works on, or has worked on. */
export interface StartedJob {
  readonly handle: string;
  readonly receiptId: number;
  /** When its start was answered (ms). */
  readonly at: number;
  readonly bill: NonNullable<Found['bill']>;
}

/**
 * Jobs of this attempt whose calls were put off between two polls.
 *
 * Invariant: a job is taken once, by the call that kept it or by another that asks the same question, so that what it
 * reserved is settled once.
 */
export class OpenJobs {
  readonly #jobs: { readonly callId: Digest; readonly started: StartedJob }[] = [];

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
