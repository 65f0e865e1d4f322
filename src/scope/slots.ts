/**
 * The things of one kind that are there now, where thousands a second come and go.
 *
 * Not a Set or Map: V8 makes a new table every few dozen of them, to which the last one keeps a reference. Once one such
 * table is old, the garbage collector takes all later ones for alive, with everything that was in them (half of what it
 * promoted in a run were rows that had ended).
 *
 * Invariant: a slot is one thing's from `put` until `free`; later it may be another's.
 */
export class Slots<Item> {
  readonly #items: (Item | undefined)[] = [];
  readonly #free: number[] = [];

  /** The slot that the item is in from now on. */
  put(item: Item): number {
    const slot = this.#free.pop() ?? this.#items.length;
    this.#items[slot] = item;
    return slot;
  }

  at(slot: number): Item | undefined {
    return this.#items[slot];
  }

  free(slot: number): void {
    if (this.#items[slot] === undefined) return;
    this.#items[slot] = undefined;
    this.#free.push(slot);
  }

  /** In no order; what is put meanwhile may come or not. */
  *[Symbol.iterator](): IterableIterator<Item> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}
