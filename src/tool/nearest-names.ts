/** Of `candidates`, those a typing mistake away from `wanted` or with the same last part, nearest first, at most three. */
export function nearestNames(wanted: string, candidates: readonly string[]): string[] {
  const target = wanted.toLowerCase();
  const most = Math.max(2, Math.floor(target.length / 3));
  return candidates
    .map((name) => ({ name, distance: distance(target, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name);
}

function distance(a: string, b: string): number {
  // The same action of another provider, or an id without its provider, is what people mix up most.
  const action = a.slice(a.indexOf('.') + 1);
  const sameAction = action.length >= 3 && b.slice(b.indexOf('.') + 1) === action;
  return sameAction ? Math.min(2, editDistance(a, b)) : editDistance(a, b);
}

/** Levenshtein's distance: insertions, deletions and replacements. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[b.length] ?? 0;
}
