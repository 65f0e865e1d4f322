/** The candidates nearest to a name that does not exist, best first: what a person may have meant. */
export function nearest(name: string, candidates: Iterable<string>, most = 3): string[] {
  const wanted = name.toLowerCase();
  const limit = Math.max(2, Math.floor(wanted.length / 3));
  const scored: { candidate: string; distance: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const other = candidate.toLowerCase();
    const inside = other.includes(wanted) || wanted.includes(other);
    const distance = inside && other.length > 0 ? 1 : editDistance(wanted, other);
    if (distance <= limit) scored.push({ candidate, distance });
  }
  scored.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  return scored.slice(0, most).map((item) => item.candidate);
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, swap));
    }
    above = row;
  }
  return above[b.length] ?? 0;
}

/** ` Did you mean 'a' or 'b'?`, or nothing. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const close = nearest(name, candidates);
  return close.length === 0 ? '' : ` Did you mean ${close.map((item) => `'${item}'`).join(' or ')}?`;
}
