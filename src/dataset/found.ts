/**
 * What the steps of a program found in one row, and which of it was of use.
 *
 * Invariant: the row shows every step's value as a plain property; reading it is noted while a step works, and never else.
 */
export class FoundBySteps {
  readonly #row: Record<string, unknown>;
  readonly #values = new Map<string, unknown>();
  /** Steps whose values a step has read. */
  readonly #reads = new Map<string, Set<string>>();
  /** The step that works now. */
  working: string | undefined;

  constructor(row: Record<string, unknown>) {
    this.#row = row;
  }

  keep(step: string, value: unknown): void {
    if (value === null) {
      this.#row[step] = null;
      return;
    }
    this.#values.set(step, value);
    Object.defineProperty(this.#row, step, {
      get: () => {
        this.#note(step);
        return this.#values.get(step);
      },
      set: (given: unknown) => this.#values.set(step, given),
      enumerable: true,
      configurable: true,
    });
  }

  /**
   * Steps that found something of which neither the program's value nor a step that is in it has made use. None where the
   * value is something of its own, so that nobody can tell what it was made of.
   */
  unusedIn(value: unknown): ReadonlySet<string> {
    const unused = new Set(this.#values.keys());
    if (unused.size === 0) return unused;
    const used = value === null ? [] : [...unused].filter((step) => isPartOf(value, this.#values.get(step)));
    if (value !== null && used.length === 0) return new Set();
    for (let step = used.pop(); step !== undefined; step = used.pop()) {
      if (!unused.delete(step)) continue;
      used.push(...(this.#reads.get(step) ?? []));
    }
    return unused;
  }

  #note(step: string): void {
    if (this.working === undefined) return;
    const reads = this.#reads.get(this.working) ?? new Set<string>();
    this.#reads.set(this.working, reads.add(step));
  }
}

const LOOKED_AT = 200;

/** Whether two values have a text or number in common, or are the same. */
function isPartOf(value: unknown, found: unknown): boolean {
  if (value === found) return true;
  const [leaves, parts] = [leavesOf(found), leavesOf(value)];
  // What is too large to look through may well be in it.
  return leaves === undefined || parts === undefined || [...leaves].some((leaf) => parts.has(leaf));
}

/** Texts and numbers of a value; undefined where there are very many. */
function leavesOf(value: unknown): Set<unknown> | undefined {
  const leaves = new Set<unknown>();
  const open = [value];
  for (let looked = 0; open.length > 0; looked++) {
    if (looked === LOOKED_AT) return undefined;
    const next = open.pop();
    if (typeof next !== 'object' || next === null) leaves.add(next);
    // Of a tool's whole result, what was found is in its data.
    else if ('execution' in next && 'data' in next) open.push(next.data);
    else open.push(...Object.values(next));
  }
  for (const nothing of [null, undefined, true, false, '']) leaves.delete(nothing);
  return leaves;
}
