import { defineTool } from 'callsheet';

export const verifier = defineTool<{ email: string }>({
  id: 'zerobounce.validate',
  description: 'Whether an address takes mail; 1 credit, none where it cannot tell',
  effect: 'read',
  input: { type: 'object', properties: { email: { type: 'string' } }, required: ['email'] },
  secrets: ['ZEROBOUNCE_API_KEY'],
  request: ({ input, secret }) => ({
    url: 'https://api.zerobounce.net/v2/validate',
    query: { email: input.email },
    headers: { 'x-api-key': secret('ZEROBOUNCE_API_KEY') },
  }),
  response: ({ json }) => ({ status: 'completed', data: json }),
  extract: { status: 'data.status' },
  cost: { credits: ({ data }) => ((data as { status?: string }).status === 'unknown' ? 0 : 1), max: 1 },
  limits: { rate: [{ calls: 150, per: '1s' }], concurrency: 50 },
  idempotency: { header: 'Idempotency-Key' },
  reuse: { scope: 'workspace', staleAfterSeconds: 30 * 86_400 },
});

export const company = defineTool<{ domain: string }>({
  id: 'clearbit.company',
  description: 'Name, industry, country and size of the company behind a domain; 1 credit where it is known',
  effect: 'read',
  input: { type: 'object', properties: { domain: { type: 'string' } }, required: ['domain'] },
  secrets: ['CLEARBIT_API_KEY'],
  noResult: [404],
  request: ({ input, secret }) => ({
    url: 'https://company.clearbit.com/v2/companies/find',
    query: { domain: input.domain },
    headers: { authorization: `Bearer ${secret('CLEARBIT_API_KEY')}` },
  }),
  response: ({ status, json }) => (status === 404 ? { status: 'no_result' } : { status: 'completed', data: json }),
  extract: {
    industry: 'data.category.industry',
    country: 'data.geo.countryCode',
    employees: 'data.metrics.employeesRange',
  },
  cost: { credits: 1, per: 'result' },
  limits: { rate: [{ calls: 150, per: '1s' }], concurrency: 50 },
  idempotency: { header: 'Idempotency-Key' },
});
