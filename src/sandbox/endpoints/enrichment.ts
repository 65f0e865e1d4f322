import type { JsonObject } from '../../sdk/index.ts';
import { stableId } from '../chance.ts';
import { companyByDomain, type SandboxCompany } from '../data/companies.ts';
import { bodyObject, type Endpoint, queryField, textField } from '../endpoint.ts';
import { personOf, providerKnows } from '../people.ts';

const APOLLO = { provider: 'apollo', coverage: 0.6 } as const;

/** `{person:{title,seniority,organization,…}}`, or `{person:null}`. */
export const apolloPeopleMatch: Endpoint = {
  method: 'POST',
  path: '/apollo/v1/people/match',
  ...APOLLO,
  price: { credits: 1, per: 'result' },
  prepare: ({ body }) => {
    const record = bodyObject(body);
    const [first_name, last_name] = [textField(record, 'first_name'), textField(record, 'last_name')];
    const domain = textField(record, 'domain');
    return {
      question: { domain, first_name, last_name },
      members: 1,
      work: ({ seed }) => {
        const person = personOf(seed, { firstName: first_name, lastName: last_name, company: domain });
        if (person === undefined || !providerKnows(seed, 'apollo', { coverage: APOLLO.coverage, person }))
          return { status: 200, credits: 0, body: { person: null } };
        const { title, seniority, company } = person;
        const id = `person_${stableId(seed, 'person', person.key)}`;
        const organization = { name: company.name, primary_domain: company.domain, ...facts(company) };
        const found = { id, first_name, last_name, name: `${first_name} ${last_name}`, title, seniority, organization };
        return { status: 200, credits: 1, body: { person: found } };
      },
    };
  },
};

/** Real public facts: `{name,domain,category,geo,metrics}`; 404 where the company is unknown. */
export const clearbitCompanyFind: Endpoint = {
  method: 'GET',
  path: '/clearbit/v2/companies/find',
  provider: 'clearbit',
  price: { credits: 1, per: 'result' },
  prepare: ({ query }) => {
    const domain = queryField(query, 'domain');
    return {
      question: { domain },
      members: 1,
      work: () => {
        const company = companyByDomain(domain);
        if (company === undefined)
          return { status: 404, credits: 0, body: { error: { type: 'unknown_record', message: 'Unknown company.' } } };
        const { industry, country, estimated_employees } = facts(company);
        const shaped = {
          name: company.name,
          domain: company.domain,
          category: { industry },
          geo: { countryCode: country },
          metrics: { employeesRange: estimated_employees },
        };
        return { status: 200, credits: 1, body: shaped as JsonObject };
      },
    };
  },
};

function facts({ industry, country, headCount }: SandboxCompany) {
  return { industry, country, estimated_employees: headCount };
}
