/**
 * Port: a limit on what several processes spend together, each change one transaction (`rates.db`). All credits are whole
 * millionths.
 */
export interface CreditLedger {
  /**
   * Takes `credits` of what is left.
   *
   * `full`: only what others, or this process, still hold is in the way. `never`: what is settled, or may have been by
   * processes that are gone, leaves no room for it.
   * `busy`: nobody can tell just now; nothing was taken.
   */
  reserve(credits: number): 'reserved' | 'full' | 'never' | 'busy';
  /** `reserved` is given back and `spent` counts. Never throws: where it can't be written now it is later. */
  settle(reserved: number, spent: number): void;
  /** As last seen, of all processes; `left` is what those that are gone may have spent. */
  state(): { readonly settled: number; readonly reserved: number; readonly left: number };
}
