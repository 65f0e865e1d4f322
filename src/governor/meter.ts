const BUCKET_MS = 1_000;
const BUCKETS = 10;

/** Dispatches per second over the last ten seconds. Owned by one account. */
export class Meter {
  readonly #counts = new Uint32Array(BUCKETS);
  #bucket = 0;

  count(now: number): void {
    const bucket = Math.floor(now / BUCKET_MS);
    if (bucket !== this.#bucket) this.#moveTo(bucket);
    const place = bucket % BUCKETS;
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
  }

  rate(now: number): number {
    this.#moveTo(Math.floor(now / BUCKET_MS));
    return this.#counts.reduce((sum, count) => sum + count, 0) / ((BUCKETS * BUCKET_MS) / 1000);
  }

  #moveTo(bucket: number): void {
    const passed = Math.min(BUCKETS, Math.max(0, bucket - this.#bucket));
    for (let step = 0; step < passed; step++) this.#counts[(bucket - step) % BUCKETS] = 0;
    this.#bucket = Math.max(this.#bucket, bucket);
  }
}
