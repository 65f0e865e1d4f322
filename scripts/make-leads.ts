/**
 * Writes examples/leads.csv: invented persons at real companies, the same bytes on every machine.
 *
 *   npx node scripts/make-leads.ts
 *
 * 630 rows: 618 different people and 12 rows that repeat one (same person, same domain: duplicate keys). Fourteen people
 * work at a domain that no provider knows, so that there are rows without any result.
 */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { FAMILY_NAMES, GIVEN_NAMES, SANDBOX_COMPANIES, TITLES } from '../src/sandbox/index.ts';

const SEED = 20_261_130;
const PEOPLE = 618;
const REPEATED = 12;
const UNKNOWN_EVERY = 44;

interface Lead {
  readonly first_name: string;
  readonly last_name: string;
  readonly company: string;
  readonly domain: string;
  readonly title: string;
}

const UNKNOWN_COMPANIES = [
  ['Larkspur Freight', 'larkspur-freight.example'],
  ['Quietwater Dental', 'quietwater-dental.example'],
  ['Tin Lantern Studio', 'tinlantern.example'],
  ['Ostrava Street Bakery', 'ostravastreet.example'],
  ['Nine Elms Tutoring', 'nine-elms-tutoring.example'],
] as const;

/** The whole file, with a header line and LF at the end of each row. */
export function leadsCsv(): string {
  const draw = numbers(SEED);
  const people: Lead[] = [];
  const seen = new Set<string>();
  while (people.length < PEOPLE) {
    const unknown = people.length % UNKNOWN_EVERY === UNKNOWN_EVERY - 1;
    const lead = unknown ? leadAt(draw, oneOf(draw, UNKNOWN_COMPANIES)) : leadAt(draw, realCompany(draw));
    const key = `${lead.first_name} ${lead.last_name} ${lead.domain}`;
    if (seen.has(key)) continue;
    seen.add(key);
    people.push(lead);
  }
  const rows = [...people];
  for (let count = 0; count < REPEATED; count++) {
    const original = draw(people.length - 100);
    const repeated = people[original];
    // Somewhere behind the original, never right after it.
    if (repeated) rows.splice(original + 50 + count, 0, repeated);
  }
  const columns = ['first_name', 'last_name', 'company', 'domain', 'title'] as const;
  // Names of companies may hold a comma; nothing here holds a quote or a line break.
  const cell = (text: string): string => (text.includes(',') ? `"${text}"` : text);
  return [columns, ...rows.map((row) => columns.map((name) => cell(row[name])))]
    .map((cells) => `${cells.join(',')}\n`)
    .join('');
}

function leadAt(draw: (below: number) => number, [company, domain]: readonly [string, string]): Lead {
  const [first_name, last_name] = [oneOf(draw, GIVEN_NAMES), oneOf(draw, FAMILY_NAMES)];
  return { first_name, last_name, company, domain, title: oneOf(draw, TITLES) };
}

function realCompany(draw: (below: number) => number): readonly [string, string] {
  const { name, domain } = oneOf(draw, SANDBOX_COMPANIES);
  return [name, domain];
}

function oneOf<T>(draw: (below: number) => number, list: readonly T[]): T {
  const chosen = list[draw(list.length)];
  if (chosen === undefined) throw new RangeError('the list is empty');
  return chosen;
}

/** Whole numbers from 0 to below `below`, by the generator mulberry32. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  writeFileSync(new URL('../examples/leads.csv', import.meta.url), leadsCsv());
