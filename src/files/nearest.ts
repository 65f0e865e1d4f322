/** The names among `candidates` that a typing mistake away from `wanted`, nearest first, at most `most`. */
export function nearestNames(wanted: string, candidates: readonly string[], most = 3): string[] {
  const target = wanted.toLowerCase();
  const allowed = Math.max(2, Math.floor(target.length * 0.4));
  return candidates
    .map((name) => ({ name, distance: distanceTo(target, name.toLowerCase(), allowed) }))
    .filter((candidate) => candidate.distance <= allowed)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map((candidate) => candidate.name);
}

/** Edits (insert, delete, replace) between two strings; one string within the other counts as near. */
function distanceTo(a: string, b: string, allowed: number): number {
  if (a.length >= 3 && b.length >= 3 && (a.includes(b) || b.includes(a))) return 1;
  if (Math.abs(a.length - b.length) > allowed) return allowed + 1;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
