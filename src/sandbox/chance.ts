/**
 * A number in [0, 1) that depends on nothing but the seed and the parts: FNV-1a with the finaliser of MurmurHash3.
 * Not for secrets; chosen because it costs less than a microsecond and spreads near-equal names well.
 */
export function chance(seed: number, ...parts: readonly string[]): number {
  return hash32(seed, parts) / 4_294_967_296;
}

/** One of a list, by seed and parts. Throws on an empty list. */
export function pick<T>(list: readonly T[], seed: number, ...parts: readonly string[]): T {
  const chosen = list[hash32(seed, parts) % list.length];
  if (chosen === undefined) throw new RangeError('pick needs a list that is not empty');
  return chosen;
}

/** Sixteen hexadecimal digits for an id that depends on seed and parts only. */
export function stableId(seed: number, ...parts: readonly string[]): string {
  const high = hash32(seed, parts);
  const low = hash32(seed ^ 0x5bd1e995, [...parts, 'low']);
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

function hash32(seed: number, parts: readonly string[]): number {
  let hash = 0x811c9dc5 ^ Math.imul(seed | 0, 0x9e3779b1);
  for (const part of parts) {
    for (let index = 0; index < part.length; index++) hash = Math.imul(hash ^ part.charCodeAt(index), 0x01000193);
    // Ends a part, so that ('ab', 'c') and ('a', 'bc') differ.
    hash = Math.imul(hash ^ 0xffff, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
