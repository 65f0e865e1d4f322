import type { RenamedHeader } from './types.ts';

/**
 * Gives each column a name of its own: an empty header becomes `column_3`, a second `email` becomes `email_2`. The first
 * bearer of a name always keeps it. `__proto__`, which JavaScript gives a meaning of its own, becomes `_proto_`.
 */
export function uniqueHeader(original: readonly string[]): { names: string[]; renamed: RenamedHeader[] } {
  const taken = new Set(original);
  const used = new Set<string>();
  const renamed: RenamedHeader[] = [];
  const nextNumber = new Map<string, number>();
  const freeName = (stem: string): string => {
    let number = nextNumber.get(stem) ?? 2;
    while (taken.has(`${stem}_${number}`)) number++;
    nextNumber.set(stem, number + 1);
    return `${stem}_${number}`;
  };
  const names = original.map((from, i) => {
    const column = i + 1;
    const why =
      from.trim() === '' ? 'empty' : from === '__proto__' ? 'reserved' : used.has(from) ? 'duplicate' : undefined;
    if (why === undefined) {
      used.add(from);
      return from;
    }
    const stem = why === 'duplicate' ? from : why === 'empty' ? `column_${column}` : '_proto_';
    const to = taken.has(stem) ? freeName(stem) : stem;
    taken.add(to);
    renamed.push({ column, from, to, why });
    return to;
  });
  return { names, renamed };
}

/** `_extra_1`, `_extra_2`, … for cells beyond the header, avoiding names that the header has. */
export function extraNames(count: number, header: readonly string[]): string[] {
  const taken = new Set(header);
  const names: string[] = [];
  for (let number = 1; names.length < count; number++) {
    const name = `_extra_${number}`;
    if (!taken.has(name)) names.push(name);
  }
  return names;
}
