import type { Fence } from '../scope/index.ts';
import { StaleAttemptError } from '../sdk/index.ts';

/** The error for state of an attempt that does not hold the run; `current` is the attempt that does. */
export function staleAttempt(fence: Fence, current: number): StaleAttemptError {
  return new StaleAttemptError(
    `Attempt ${fence.attempt} may not write for the run any more: attempt ${current} holds it.`,
    {
      details: { runNo: fence.runNo, attempt: fence.attempt, current },
      next: ['let the newer attempt go on; `callsheet runs show <run>` says where it is'],
    },
  );
}
