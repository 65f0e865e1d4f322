import { defineTool } from 'callsheet';

interface Person {
  first_name: string;
  last_name: string;
  domain: string;
}

const person = {
  type: 'object',
  properties: {
    first_name: { type: 'string', minLength: 1 },
    last_name: { type: 'string', minLength: 1 },
    domain: { type: 'string', minLength: 3 },
  },
  required: ['first_name', 'last_name', 'domain'],
  additionalProperties: false,
} as const;

export const hunter = defineTool<Person>({
  id: 'hunter.email_finder',
  description: 'The work e-mail of a person at a domain; 1 credit where there is one',
  effect: 'read',
  input: person,
  secrets: ['HUNTER_API_KEY'],
  noResult: [404],
  request: ({ input, secret }) => ({
    url: 'https://api.hunter.io/v2/email-finder',
    query: { ...input },
    headers: { authorization: `Bearer ${secret('HUNTER_API_KEY')}` },
  }),
  response: ({ json }) => (json?.data?.email ? { status: 'completed', data: json.data } : { status: 'no_result' }),
  extract: { email: 'data.email' },
  cost: { credits: 1, per: 'result' },
  limits: { rate: [{ calls: 150, per: '1s' }], concurrency: 50 },
  idempotency: { header: 'Idempotency-Key' },
  reuse: { scope: 'workspace', staleAfterSeconds: 90 * 86_400 },
});

export const prospeo = defineTool<Person>({
  id: 'prospeo.email_finder',
  description: 'The work e-mail of a person at a domain; 1 credit where there is one',
  effect: 'read',
  input: person,
  secrets: ['PROSPEO_API_KEY'],
  request: ({ input, secret }) => ({
    method: 'POST',
    url: 'https://api.prospeo.io/email-finder',
    headers: { 'x-api-key': secret('PROSPEO_API_KEY') },
    body: { first_name: input.first_name, last_name: input.last_name, company: input.domain },
  }),
  response: ({ json }) =>
    json?.error === false ? { status: 'completed', data: json.response } : { status: 'no_result' },
  extract: { email: 'data.email.email' },
  cost: { credits: 1, per: 'result' },
  limits: { rate: [{ calls: 150, per: '1s' }], concurrency: 50 },
  idempotency: { header: 'Idempotency-Key' },
});

export const dropcontact = defineTool<Person>({
  id: 'dropcontact.enrich',
  description: 'The work e-mail of a person at a web site; 3 credits where there is one',
  effect: 'read',
  input: person,
  secrets: ['DROPCONTACT_API_KEY'],
  request: ({ input, secret }) => ({
    method: 'POST',
    url: 'https://api.dropcontact.io/enrich',
    headers: { 'x-api-key': secret('DROPCONTACT_API_KEY') },
    body: { first_name: input.first_name, last_name: input.last_name, website: input.domain },
  }),
  response: ({ json }) =>
    json?.data?.email?.length > 0 ? { status: 'completed', data: json.data } : { status: 'no_result' },
  extract: { email: 'data.email[0].email' },
  cost: { credits: 3, per: 'result' },
  limits: { rate: [{ calls: 150, per: '1s' }], concurrency: 50 },
  idempotency: { header: 'Idempotency-Key' },
});
