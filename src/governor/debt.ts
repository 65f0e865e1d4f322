/** Something that was bought, or may have been, and whose cost is not settled. All credits are whole millionths. */
export interface Debt<From> {
  readonly max: number;
  state: 'open' | 'lost' | 'paid';
  /** The innermost budget that it is taken from. */
  readonly from: From;
  /** False of what was lost in an earlier period: a budget that begins anew from time to time has forgotten it. */
  readonly isOfPeriod: boolean;
  /** Told before it comes to count as lost. */
  readonly wasLost: (() => void) | undefined;
}

export interface Counted {
  readonly reserved: number;
  readonly settled: number;
  /** Part of what is settled. */
  readonly unknown: number;
}

/** What a budget counts a debt as. */
export function countedIn({ state, max, isOfPeriod }: Debt<unknown>, isPeriodic: boolean): Counted {
  if (state === 'open') return { reserved: max, settled: 0, unknown: 0 };
  const lost = state === 'paid' || (isPeriodic && !isOfPeriod) ? 0 : max;
  return { reserved: 0, settled: lost, unknown: lost };
}
