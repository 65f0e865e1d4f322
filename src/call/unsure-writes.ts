import { type Digest, type Place, placeName } from '../scope/index.ts';
import type { CallEntry, OperationRecord } from '../store/index.ts';
import { isAmbiguousFailure } from './failure.ts';

/** A write under an idempotency key whose call failed without anybody knowing whether it was done. */
export interface UnsureWrite {
  readonly tool: string;
  readonly inputDigest: Digest;
  /** What it went out under last. */
  readonly operationKey: string;
}

/**
 * Keyed writes that may have been done, by place.
 *
 * Owns: the keys under which they went out. Does not own: their calls, which have failed and stay so (journal).
 *
 * Invariants
 *  1. The next equal call of the place, which is the play's own retry, goes out under the key of the last such failure:
 *     what was done already is then done once.
 *  2. A key is given out to one call at a time, and not again once that call was answered or definitely refused.
 */
export class UnsureWrites {
  readonly #byPlace = new Map<string, UnsureWrite[]>();

  /** What earlier attempts left at a place. */
  load(place: Place, entries: readonly CallEntry[], known: readonly OperationRecord[]): void {
    const left = unsureOf(entries, known);
    if (left.length > 0) this.#byPlace.set(placeName(place), left);
    else this.forget(place);
  }

  add(place: Place, write: UnsureWrite): void {
    const known = this.#byPlace.get(placeName(place));
    if (known === undefined) this.#byPlace.set(placeName(place), [write]);
    else known.push(write);
  }

  /** The key that an equal call goes out under, given out once; undefined where it has one of its own. */
  take(place: Place, like: Omit<UnsureWrite, 'operationKey'>): string | undefined {
    if (this.#byPlace.size === 0) return undefined;
    const known = this.#byPlace.get(placeName(place)) ?? [];
    const at = known.findLastIndex((one) => one.tool === like.tool && one.inputDigest === like.inputDigest);
    return at === -1 ? undefined : known.splice(at, 1)[0]?.operationKey;
  }

  forget(place: Place): void {
    if (this.#byPlace.size > 0) this.#byPlace.delete(placeName(place));
  }
}

/** Failures that leave a keyed write open, oldest first, without those that a later call of the same key has settled. */
function unsureOf(entries: readonly CallEntry[], known: readonly OperationRecord[]): UnsureWrite[] {
  const isUnsure = ({ effect, error }: CallEntry): boolean =>
    effect === 'write' && error !== null && isAmbiguousFailure(error);
  const failures = entries.filter(isUnsure).sort((a, b) => a.at - b.at);
  if (failures.length === 0) return [];
  const keys = new Map(known.map(({ callId, operationKey }) => [callId, operationKey]));
  const settled = new Set(entries.filter((entry) => !isUnsure(entry)).map(({ callId }) => keys.get(callId)));
  const unsure = new Map<string, UnsureWrite>();
  for (const { callId, tool, inputDigest } of failures) {
    const operationKey = keys.get(callId);
    if (operationKey === undefined || settled.has(operationKey)) continue;
    unsure.set(operationKey, { tool, inputDigest, operationKey });
  }
  return [...unsure.values()];
}
