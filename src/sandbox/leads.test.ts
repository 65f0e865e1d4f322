import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { leadsCsv } from '../../scripts/make-leads.ts';
import { SANDBOX_COMPANIES } from './index.ts';

describe('examples/leads.csv', () => {
  const text = readFileSync(new URL('../../examples/leads.csv', import.meta.url), 'utf8');
  const [header, ...rows] = parse(text) as string[][];

  it('is what the script makes', () => {
    expect(text).toBe(leadsCsv());
  });

  it('has 630 rows, of which twelve repeat a person and a domain', () => {
    expect(header).toEqual(['first_name', 'last_name', 'company', 'domain', 'title']);
    expect(rows).toHaveLength(630);
    const keys = rows.map(([first, last, , domain]) => `${first} ${last} ${domain}`);
    expect(new Set(keys).size).toBe(618);
    for (const row of rows) for (const cell of row) expect(cell.trim()).not.toBe('');
  });

  it('names real companies, but for some two in a hundred that no provider knows', () => {
    const known = new Set(SANDBOX_COMPANIES.map((company) => company.domain));
    const unknown = rows.filter(([, , , domain = '']) => !known.has(domain));
    expect(unknown.length).toBeGreaterThanOrEqual(10);
    expect(unknown.length).toBeLessThanOrEqual(16);
    for (const [, , , domain] of unknown) expect(domain).toMatch(/\.example$/);
  });
});
