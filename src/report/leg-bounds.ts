export interface Slot {
  readonly column: string;
  readonly leg: string;
}

/** The most calls that a row makes at a leg, as far as the play's text tells. */
export interface ShownCalls {
  /** By tool; Infinity where a loop makes them. */
  readonly tools: ReadonlyMap<string, number>;
  /** Calls of tools whose ids are computed. */
  readonly computed: number;
  /** Code that may call tools and that the text does not show, for people. */
  readonly hidden: readonly string[];
}

/** What the text, and the catalogue, tell about a play's calls. */
export interface TextFacts {
  /** The most calls that a row makes at a leg by the play's text; undefined where the text does not show the leg. */
  shownAt(dataset: string, leg: string): ShownCalls | undefined;
  /** Some tool of the workspace costs credits. */
  readonly mayCost: boolean;
  tool(id: string): { readonly maxCredits: number } | undefined;
}

/** What the play's text tells of the most calls at a dataset's legs, and where it does not tell. */
export class LegBounds {
  readonly #key: string;
  readonly #slots: readonly Slot[];
  readonly #experience: TextFacts;
  readonly #varying = new Set<string>();
  readonly #hidden = new Set<string>();

  constructor(key: string, slots: readonly Slot[], experience: TextFacts) {
    this.#key = key;
    this.#slots = slots;
    this.#experience = experience;
  }

  get varying(): readonly string[] {
    return [...this.#varying];
  }

  get hidden(): readonly string[] {
    return [...this.#hidden];
  }

  /** Tools that the text shows from a leg on. */
  from(first: number): readonly { readonly slot: number; readonly tool: string }[] {
    return this.#slots.flatMap((_, slot) =>
      slot < first ? [] : [...(this.#at(slot)?.tools.keys() ?? [])].map((tool) => ({ slot, tool })),
    );
  }

  /** The most calls of a tool that one row makes at a leg; 0 where the text does not tell. */
  most(slot: number, tool: string): number {
    const count = this.#at(slot)?.tools.get(tool) ?? 0;
    return Number.isFinite(count) ? count : 0;
  }

  /**
   * Notes that rows come to a leg, where each has made so many calls, and may come to those behind it.
   *
   * @returns true where they have made every call there that the text shows
   */
  reach(from: number, made: number): boolean {
    const shown = this.#at(from);
    const all =
      shown === undefined
        ? Number.POSITIVE_INFINITY
        : [...shown.tools.values()].reduce((a, b) => a + b, shown.computed);
    const isDone = shown?.hidden.length === 0 && made > 0 && made >= all;
    for (let slot = isDone ? from + 1 : from; slot < this.#slots.length; slot++) this.#note(slot);
    return isDone;
  }

  #note(slot: number): void {
    const leg = this.#slots[slot]?.leg ?? '';
    const shown = this.#at(slot);
    const costs = (tool: string): boolean => (this.#experience.tool(tool)?.maxCredits ?? 0) > 0;
    const isRepeated = [...(shown?.tools ?? [])].some(([tool, count]) => !Number.isFinite(count) && costs(tool));
    if (isRepeated) this.#varying.add(leg);
    if (!this.#experience.mayCost) return;
    const hidden = shown?.hidden ?? ['which it does not show'];
    const computed = (shown?.computed ?? 0) > 0 ? ["a tool's id is computed"] : [];
    for (const why of [...hidden, ...computed]) this.#hidden.add(`${leg} (${why})`);
  }

  #at(slot: number): ShownCalls | undefined {
    return this.#experience.shownAt(this.#key, this.#slots[slot]?.leg ?? '');
  }
}
