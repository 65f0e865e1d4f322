import type { Gate, Scope } from '../scope/index.ts';

export const MAX_CHILDREN_A_ROW = 100;

/**
 * The keys of the children of each row.
 *
 * Invariant: a row counts a key once, however often it asks for it; the run outside rows counts none.
 */
export class ChildKeys {
  readonly #byRow = new WeakMap<Gate, Set<string>>();

  /** False where the row has as many children as it may. */
  admit(scope: Scope, key: string): boolean {
    if (!scope.inRow) return true;
    const keys = this.#byRow.get(scope.gate) ?? new Set();
    this.#byRow.set(scope.gate, keys);
    if (keys.size >= MAX_CHILDREN_A_ROW && !keys.has(key)) return false;
    keys.add(key);
    return true;
  }
}
