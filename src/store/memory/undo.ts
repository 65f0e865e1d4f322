/** What has been done so far, and how to take it back: what a transaction is in memory. */
export class Undo {
  #steps: (() => void)[] = [];

  /** Remembers how to take back what is about to be done. */
  push(step: () => void): void {
    this.#steps.push(step);
  }

  /** Sets a value that `rollback` restores. */
  set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    const had = map.has(key);
    const before = map.get(key);
    this.push(() => {
      if (had) map.set(key, before as Value);
      else map.delete(key);
    });
    map.set(key, value);
  }

  /** Appends a value that `rollback` takes off again. */
  append<Value>(list: Value[], value: Value): void {
    this.push(() => void list.pop());
    list.push(value);
  }

  rollback(): void {
    for (const step of this.#steps.reverse()) step();
    this.#steps = [];
  }
}
