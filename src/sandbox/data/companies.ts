import { AMERICAN_COMPANIES } from './companies-americas.ts';
import { ASIAN_AFRICAN_PACIFIC_COMPANIES } from './companies-asia-africa-pacific.ts';
import { CENTRAL_EUROPEAN_COMPANIES } from './companies-central-europe.ts';
import { OTHER_EUROPEAN_COMPANIES } from './companies-rest-of-europe.ts';
import { SOFTWARE_COMPANIES } from './companies-software.ts';
import type { HeadCountBand } from './company-row.ts';

/** Public facts about a real company. */
export interface SandboxCompany {
  readonly name: string;
  /** The public web domain, lower case, without `www.`. */
  readonly domain: string;
  readonly industry: string;
  /** ISO 3166-1 alpha-2 of the head office. */
  readonly country: string;
  /** Rough number of employees. */
  readonly headCount: HeadCountBand;
}

/** Every company that the sandbox knows, in a fixed order. */
export const SANDBOX_COMPANIES: readonly SandboxCompany[] = [
  ...SOFTWARE_COMPANIES,
  ...AMERICAN_COMPANIES,
  ...CENTRAL_EUROPEAN_COMPANIES,
  ...OTHER_EUROPEAN_COMPANIES,
  ...ASIAN_AFRICAN_PACIFIC_COMPANIES,
].map(([name, domain, industry, country, headCount]) => ({ name, domain, industry, country, headCount }));

const byDomain = new Map(SANDBOX_COMPANIES.map((company) => [company.domain, company]));
const byName = new Map(SANDBOX_COMPANIES.map((company) => [company.name.toLowerCase(), company]));

/** The company behind a web domain; case, a leading `www.` and a closing dot do not matter. */
export function companyByDomain(domain: string): SandboxCompany | undefined {
  return byDomain.get(domain) ?? byDomain.get(plainDomain(domain));
}

/** The company of that name; case does not matter. */
export function companyByName(name: string): SandboxCompany | undefined {
  return byName.get(name.trim().toLowerCase());
}

/** A domain as the table spells it. */
export function plainDomain(domain: string): string {
  return domain
    .trim()
    .toLowerCase()
    .replace(/^www\./, '')
    .replace(/\.$/, '');
}
