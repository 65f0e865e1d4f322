import { type Digest, type Fence, type Place, placeName, type Scope } from '../scope/index.ts';
import type { Committer, Instant, NewWait, RunReads, WaitRecord } from '../store/index.ts';

/** How much later than another wait was armed a settled one must be to count as news to its row (ms). */
const NEWS_MARGIN_MS = 1_000;

/** Until when something waits. */
export interface WaitSpan {
  /** The earliest deadline; null where there is none. */
  readonly until: Instant | null;
  /** True where a call was put off: a provider's limit is waited out by the attempt itself. */
  readonly isPutOff: boolean;
}

/** The waits of one row, or of the run outside rows, while its code runs. */
interface PlaceWaits {
  readonly byKey: Map<Digest, WaitRecord>;
  /** Those that were there before the code began this time. */
  readonly earlier: ReadonlySet<Digest>;
  readonly returned: Set<Digest>;
}

/**
 * What this attempt knows of the run's waits.
 *
 * Owns: the waits of places whose code runs, and which of those that are over the code has been given.
 * Does not own: when a scope is suspended for one (suspension), or who answers (signals in the store).
 *
 * Invariants
 *  1. A wait is armed once, durably, before anything depends on it; its deadline and policy are those of then.
 *  2. Answer against time-out is the store's decision: what stands there is what everybody gets.
 */
export class Waits {
  readonly #reads: RunReads;
  readonly #committer: Committer;
  readonly #runNo: number;
  readonly #places = new Map<string, PlaceWaits>();

  constructor(reads: RunReads, committer: Committer, runNo: number) {
    this.#reads = reads;
    this.#committer = committer;
    this.#runNo = runNo;
  }

  async load(datasetNo: number, ordinals: readonly number[]): Promise<void> {
    for (const [ordinal, waits] of await this.#reads.waits(this.#runNo, datasetNo, ordinals))
      this.#places.set(placeName({ datasetNo, ordinal }), {
        byKey: new Map(waits.map((wait) => [wait.key, wait])),
        earlier: new Set(waits.map((wait) => wait.key)),
        returned: new Set(),
      });
  }

  forget(place: Place): void {
    if (this.#places.size > 0) this.#places.delete(placeName(place));
  }

  /** The wait as it stands, armed if it was not. */
  async arm(scope: Scope, wait: NewWait): Promise<WaitRecord> {
    const known = this.#places.get(placeName(scope.place))?.byKey.get(wait.key);
    if (known !== undefined) return known;
    const write = { kind: 'arm' as const, fence: scope.fence, place: scope.place, wait };
    return await this.#stands(scope, write);
  }

  /** What stands once the time of an open wait is over. */
  expire(scope: Scope, key: Digest, at: Instant): Promise<WaitRecord> {
    return this.#stands(scope, { kind: 'expire', fence: scope.fence, place: scope.place, key, at });
  }

  /** Nobody will answer an open wait: it is over, whatever its policy. */
  drop(scope: Scope, key: Digest, at: Instant): Promise<WaitRecord> {
    return this.#stands(scope, { kind: 'expire', fence: scope.fence, place: scope.place, key, at, dropped: true });
  }

  async #stands(scope: Scope, write: Parameters<Committer['commit']>[0][number] & { stored?: WaitRecord }) {
    await this.#committer.commit([write]);
    const { stored } = write;
    if (stored === undefined) throw new Error('the store did not say how a wait stands');
    this.#of(scope.place).byKey.set(stored.key, stored);
    return stored;
  }

  /** The code has been given what a wait came to. */
  returned(place: Place, key: Digest): void {
    this.#of(place).returned.add(key);
  }

  /**
   * True where the code may go on past this open wait: another one is over that it was not given yet, or the wait is from
   * an earlier attempt, whose calls may now let it.
   */
  mayGoOn(place: Place, key: Digest, now: Instant): boolean {
    const waits = this.#places.get(placeName(place));
    if (waits === undefined) return false;
    if (waits.earlier.has(key)) return true;
    for (const wait of waits.byKey.values()) if (isOver(wait, now) && !waits.returned.has(wait.key)) return true;
    return false;
  }

  /** Until when a place's open waits last. */
  span(place: Place): WaitSpan {
    return spanOf(this.#places.get(placeName(place))?.byKey.values() ?? []);
  }

  /**
   * Calls of this place were put off and are asked again, or its row is over: those waits are over, which is durable with
   * the next group. `before`: only those whose time had come by then.
   */
  settlePutOffs(
    fence: Fence,
    place: Place,
    { now, before }: { readonly now: Instant; readonly before: Instant },
  ): void {
    if (this.#places.size === 0) return;
    const byKey = this.#places.get(placeName(place))?.byKey;
    for (const wait of byKey?.values() ?? []) {
      const { kind, state, deadline, key } = wait;
      if (kind !== 'provider' || state !== 'open' || (deadline ?? 0) > before) continue;
      byKey?.set(key, { ...wait, state: 'timedOut', settledAt: now });
      this.#committer.defer([{ kind: 'expire', fence, place, key, at: now }]);
    }
  }

  /** Of these parked rows, those that wait for nothing that has happened, each with until when. */
  async stillOpen(
    datasetNo: number,
    ordinals: readonly number[],
    now: Instant,
  ): Promise<ReadonlyMap<number, WaitSpan>> {
    const still = new Map<number, WaitSpan>();
    for (const [ordinal, waits] of await this.#reads.waits(this.#runNo, datasetNo, ordinals))
      if (onlyWaits(waits, now)) still.set(ordinal, spanOf(waits));
    return still;
  }

  #of(place: Place): PlaceWaits {
    const name = placeName(place);
    let waits = this.#places.get(name);
    if (waits === undefined) {
      waits = { byKey: new Map(), earlier: new Set(), returned: new Set() };
      this.#places.set(name, waits);
    }
    return waits;
  }
}

function isOver(wait: WaitRecord, now: Instant): boolean {
  return wait.state !== 'open' || (wait.deadline !== null && wait.deadline <= now);
}

function spanOf(waits: Iterable<WaitRecord>): WaitSpan {
  let until: Instant | null = null;
  let isPutOff = false;
  for (const { kind, state, deadline } of waits) {
    if (state !== 'open' || deadline === null) continue;
    if (kind === 'provider') isPutOff = true;
    if (until === null || deadline < until) until = deadline;
  }
  return { until, isPutOff };
}

/** What was over before the last of the open ones was armed, the code had been given: it came that far. */
function onlyWaits(waits: readonly WaitRecord[], now: Instant): boolean {
  let lastArmed = Number.NEGATIVE_INFINITY;
  for (const wait of waits) {
    if (wait.state !== 'open') continue;
    if (isOver(wait, now)) return false;
    lastArmed = Math.max(lastArmed, wait.armedAt);
  }
  return waits.every((wait) => wait.state === 'open' || (wait.settledAt ?? 0) < lastArmed - NEWS_MARGIN_MS);
}
