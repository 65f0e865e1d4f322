import type { Permit } from '../governor/index.ts';
import { PutOff } from '../scope/index.ts';
import type { Failure } from '../tool/index.ts';
import type { LostTry } from './open-tries.ts';

/** A status that says "not done, come again", and that some answer after the work. */
export const UNAVAILABLE = 503;

/**
 * True where a request went out and nothing says that it was not done: a status of 500 and more does not either. Of a 503 its key
 * will tell.
 */
export function mayBeCharged({ ending, status }: Failure, keyed: boolean): boolean {
  return ending === 'inProgress' || ending === 'ambiguous' || (keyed && status === UNAVAILABLE);
}

/**
 * The permit of the next try, which takes over the credits of one that may have been charged: what is sent again under its key
 * is charged once. Where there is none, the lost try counts as spent, unless its call was put off and goes on later.
 */
export async function takenOver(
  lost: LostTry,
  next: () => Permit | Promise<Permit>,
  hold: (lost: LostTry) => void,
): Promise<Permit> {
  try {
    const permit = await next();
    lost.handOver();
    return permit;
  } catch (error) {
    if (error instanceof PutOff) hold(lost);
    else lost.charge('unknown');
    throw error;
  }
}
