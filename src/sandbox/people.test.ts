import { describe, expect, it } from 'vitest';
import { chance, pick } from './chance.ts';
import { FAMILY_NAMES, GIVEN_NAMES, SANDBOX_COMPANIES } from './index.ts';
import { type Person, personOf, providerKnows } from './people.ts';

const people: Person[] = [];
for (const { domain } of SANDBOX_COMPANIES)
  for (const firstName of GIVEN_NAMES.slice(0, 10))
    for (const lastName of FAMILY_NAMES.slice(0, 10)) {
      const person = personOf(1, { firstName, lastName, company: domain });
      if (person) people.push(person);
    }

const share = (of: readonly Person[], knows: (person: Person) => boolean) => of.filter(knows).length / of.length;

describe('people', () => {
  it('are found as often as the coverage says, by providers that miss independently', () => {
    const byHunter = (person: Person) => providerKnows(1, 'hunter', { coverage: 0.45, person });
    const byProspeo = (person: Person) => providerKnows(1, 'prospeo', { coverage: 0.35, person });
    expect(Math.abs(share(people, byHunter) - 0.45)).toBeLessThan(0.01);
    expect(Math.abs(share(people, byProspeo) - 0.35)).toBeLessThan(0.01);
    const missed = people.filter((person) => !byHunter(person));
    expect(Math.abs(share(missed, byProspeo) - 0.35)).toBeLessThan(0.02);
  });

  it('are the same in any spelling of name and domain, with an address of plain letters', () => {
    const plain = personOf(1, { firstName: 'Soren', lastName: "d'aubermont", company: 'sap.com' });
    const accented = personOf(1, { firstName: 'SØREN', lastName: 'D’Aubermont', company: 'www.SAP.com' });
    expect(accented?.email).toBe(plain?.email);
    expect(accented?.email).toMatch(/^[a-z0-9._]+@sap\.com$/);
  });

  it('with another initial, family name or company have another address', () => {
    const told = people.map(({ firstName, lastName, company }) => `${firstName[0]} ${lastName} ${company.domain}`);
    expect(new Set(people.map((person) => person.email)).size).toBeGreaterThanOrEqual(new Set(told).size);
  });

  it('without letters in their name, or at an unknown company, are nobody', () => {
    expect(personOf(1, { firstName: '--', lastName: 'Ashvale', company: 'sap.com' })).toBeUndefined();
    expect(personOf(1, { firstName: 'Ada', lastName: 'Ashvale', company: 'nobody.example' })).toBeUndefined();
  });
});

describe('chance', () => {
  it('is even, and keeps parts apart', () => {
    const bins = new Array<number>(16).fill(0);
    for (let index = 0; index < 32_000; index++) {
      const bin = Math.floor(chance(5, 'x', String(index)) * 16);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    for (const count of bins) expect(Math.abs(count - 2000)).toBeLessThan(200);
    expect(chance(1, 'ab', 'c')).not.toBe(chance(1, 'a', 'bc'));
    expect(chance(1, 'a')).not.toBe(chance(2, 'a'));
  });

  it('has nothing to pick from an empty list', () => {
    expect(() => pick([], 1, 'a')).toThrow(RangeError);
  });
});
