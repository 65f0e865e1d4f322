import { chance, pick } from './chance.ts';
import { companyByDomain, companyByName, plainDomain, type SandboxCompany } from './data/companies.ts';
import { TITLES } from './data/person-names.ts';

/** A person as a question names one: spelling as the client sent it. */
export interface PersonQuestion {
  readonly firstName: string;
  readonly lastName: string;
  /** A web domain, or a company's name where the provider takes either. */
  readonly company: string;
}

/** An invented person at a real company, with everything that any provider may say about them. */
export interface Person {
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly title: string;
  readonly seniority: 'c_suite' | 'vp' | 'director' | 'head' | 'manager' | 'individual';
  readonly company: SandboxCompany;
  /** What tells two people apart: lower case, accents removed. */
  readonly key: string;
}

const MAIL_PATTERNS = ['first.last', 'flast', 'firstlast', 'first_last', 'f.last'] as const;

/** The person that a question means, or undefined where nobody knows the company. Same seed, same person. */
export function personOf(seed: number, question: PersonQuestion): Person | undefined {
  const company = companyByDomain(question.company) ?? companyByName(question.company);
  if (company === undefined) return undefined;
  const first = mailName(question.firstName);
  const last = mailName(question.lastName);
  if (first === '' || last === '') return undefined;
  const key = `${first} ${last} ${company.domain}`;
  const title = pick(TITLES, seed, 'title', key);
  return {
    firstName: question.firstName,
    lastName: question.lastName,
    email: `${localPart(pick(MAIL_PATTERNS, seed, 'pattern', company.domain), first, last)}@${company.domain}`,
    title,
    seniority: seniorityOf(title),
    company,
    key,
  };
}

/** Whether a provider with this coverage (0 to 1) has the person. Providers miss independently of each other. */
export function providerKnows(seed: number, provider: string, options: { coverage: number; person: Person }): boolean {
  return chance(seed, 'coverage', provider, options.person.key) < options.coverage;
}

/** 70 to 99. */
export function scoreOf(seed: number, provider: string, person: Person): number {
  return 70 + Math.floor(chance(seed, 'score', provider, person.key) * 30);
}

export type MailStatus = 'valid' | 'invalid' | 'catch-all' | 'unknown';

/** Whether an address takes mail. Whole domains are catch-all; unknown domains take none. */
export function mailStatusOf(seed: number, email: string): { readonly status: MailStatus; readonly subStatus: string } {
  const address = email.trim().toLowerCase();
  const [local, host, ...rest] = address.split('@');
  if (!local || !host || rest.length > 0 || !/^[^\s@]+$/.test(address.replace('@', '')))
    return { status: 'invalid', subStatus: 'failed_syntax_check' };
  const domain = plainDomain(host);
  if (companyByDomain(domain) === undefined) return { status: 'invalid', subStatus: 'does_not_accept_mail' };
  if (chance(seed, 'catch-all', domain) < 0.1) return { status: 'catch-all', subStatus: '' };
  const draw = chance(seed, 'mail', address);
  if (draw < 0.84) return { status: 'valid', subStatus: '' };
  if (draw < 0.95) return { status: 'invalid', subStatus: 'mailbox_not_found' };
  return { status: 'unknown', subStatus: 'mail_server_temporary_error' };
}

const LETTERS: Readonly<Record<string, string>> = {
  ø: 'o',
  ß: 'ss',
  ł: 'l',
  æ: 'ae',
  œ: 'oe',
  đ: 'd',
  ð: 'd',
  þ: 'th',
};

/** A name as it stands in an address: ASCII letters and digits only. */
function mailName(name: string): string {
  const lower = name.toLowerCase();
  if (/^[a-z0-9]+$/.test(lower)) return lower;
  return lower
    .replace(/[øßłæœđðþ]/g, (letter) => LETTERS[letter] ?? '')
    .normalize('NFD')
    .replace(/[^a-z0-9]/g, '');
}

function localPart(pattern: (typeof MAIL_PATTERNS)[number], first: string, last: string): string {
  switch (pattern) {
    case 'first.last':
      return `${first}.${last}`;
    case 'flast':
      return `${first.slice(0, 1)}${last}`;
    case 'firstlast':
      return `${first}${last}`;
    case 'first_last':
      return `${first}_${last}`;
    case 'f.last':
      return `${first.slice(0, 1)}.${last}`;
  }
}

function seniorityOf(title: string): Person['seniority'] {
  if (title.startsWith('Chief')) return 'c_suite';
  if (title.startsWith('VP')) return 'vp';
  if (/\bDirector\b/.test(title)) return 'director';
  if (title.startsWith('Head')) return 'head';
  return /\bManager\b/.test(title) ? 'manager' : 'individual';
}
