import type { WriteOf } from '../store/index.ts';
import type { Answer } from './answer.ts';
import type { CallRun } from './env.ts';
import type { CallFailure } from './failure.ts';
import type { Bill } from './open-tries.ts';

/** What the answer to a batch says of a member that it does not answer, and what that member may have cost. */
export interface FailedPart {
  readonly failure: CallFailure;
  readonly answer: Pick<Answer, 'receiptId' | 'at'>;
  readonly bill: Bill;
}

/** What such a member costs: nothing, unless it may have been done all the same. */
export function costOfFailed({ ending }: Pick<CallFailure, 'ending'>): 0 | 'unknown' {
  return ending === 'ambiguous' ? 'unknown' : 0;
}

/** The member is asked anew. Resolves when it may go out; what its answer has cost is settled by then. */
export async function askedAnew(
  run: CallRun,
  { failure, answer, bill }: FailedPart,
  cost = costOfFailed(failure),
): Promise<void> {
  bill.charge(cost);
  await evictFailed(run, answer);
}

/** The answer to a member that is asked anew serves nobody any more, and no journal will name it: durably, once this resolves. */
export async function evictFailed(run: CallRun, answer: FailedPart['answer']): Promise<void> {
  await run.process.committer.commit([evictionOf(answer)]);
}

/** What a later receipt of the call settles, or nothing does, its answer was charged nothing for. */
export function evictionOf({ receiptId, at }: FailedPart['answer']): WriteOf<'evict'> {
  return { kind: 'evict', receiptIds: [receiptId], at };
}
