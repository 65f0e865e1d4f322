/** The candidates that a person may have meant by a name that does not exist: nearest first, at most `most`. */
export function nearestNames(wanted: string, candidates: Iterable<string>, most = 3): string[] {
  const target = wanted.toLowerCase();
  const allowed = Math.max(2, Math.floor(target.length / 3));
  return [...new Set(candidates)]
    .map((name) => ({ name, distance: distanceTo(target, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name);
}

/** ` Did you mean 'a' or 'b'?`, or nothing. */
export function didYouMean(wanted: string, candidates: Iterable<string>): string {
  const close = nearestNames(wanted, candidates);
  return close.length === 0 ? '' : ` Did you mean ${close.map((name) => `'${name}'`).join(' or ')}?`;
}

/** Edits between two names. One within the other is near, and so is the same action of another provider. */
function distanceTo(a: string, b: string): number {
  if (a.length >= 3 && b.length >= 3 && (a.includes(b) || b.includes(a))) return 1;
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
