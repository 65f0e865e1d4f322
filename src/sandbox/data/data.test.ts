import { describe, expect, it } from 'vitest';
import { companyByDomain, companyByName, SANDBOX_COMPANIES } from './companies.ts';
import { FAMILY_NAMES, GIVEN_NAMES, TITLES } from './person-names.ts';

describe('company data', () => {
  it('has at least 300 companies, each with its own domain, and facts of the right form', () => {
    expect(SANDBOX_COMPANIES.length).toBeGreaterThanOrEqual(300);
    expect(new Set(SANDBOX_COMPANIES.map((company) => company.domain)).size).toBe(SANDBOX_COMPANIES.length);
    expect(new Set(SANDBOX_COMPANIES.map((company) => company.name)).size).toBe(SANDBOX_COMPANIES.length);
    for (const { domain, country } of SANDBOX_COMPANIES) {
      expect(domain).toMatch(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
      expect(country).toMatch(/^[A-Z]{2}$/);
    }
  });

  it('is found by any spelling of domain and name', () => {
    for (const spelling of ['sap.com', ' SAP.com', 'www.sap.com.']) expect(companyByDomain(spelling)?.name).toBe('SAP');
    expect(companyByName('sap ')?.domain).toBe('sap.com');
    expect(companyByDomain('sap.example')).toBeUndefined();
  });
});

it('names and titles are lists without repeats', () => {
  for (const list of [GIVEN_NAMES, FAMILY_NAMES, TITLES]) expect(new Set(list).size).toBe(list.length);
});
