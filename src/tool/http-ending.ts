import type { Ending } from '../sdk/index.ts';

export interface EndingFacts {
  readonly status: number;
  /** Statuses that mean "asked, and there is none". */
  readonly noResult: readonly number[] | undefined;
  readonly isWrite: boolean;
  /** The request carried our idempotency key. */
  readonly keyed: boolean;
}

/** How an operation ended by the status of a whole answer: the table of docs/design 30-calls, "Delivery". */
export function endingOfStatus({ status, noResult, isWrite, keyed }: EndingFacts): Ending {
  if (status >= 200 && status < 300) return 'answered';
  if (noResult?.includes(status)) return 'answered';
  switch (status) {
    case 429:
      return 'deferred';
    case 503:
      // Some providers answer 503 after the work was done; only a key, which it keeps then, makes it safe to send a write again.
      return isWrite && !keyed ? 'ambiguous' : 'deferred';
    case 409:
    case 425:
      return keyed ? 'inProgress' : 'rejected';
    case 408:
      return 'ambiguous';
    default:
      return status >= 500 ? 'ambiguous' : 'rejected';
  }
}
