import { bodyObject, type Endpoint, listField, queryField, RequestRefused, textField } from '../endpoint.ts';
import { type Person, type PersonQuestion, personOf, providerKnows, scoreOf } from '../people.ts';

interface Terms {
  readonly provider: string;
  readonly coverage: number;
}

const HUNTER = { provider: 'hunter', coverage: 0.45 } as const;
const PROSPEO = { provider: 'prospeo', coverage: 0.35 } as const;
const DROPCONTACT = { provider: 'dropcontact', coverage: 0.3 } as const;
const FINDYMAIL = { provider: 'findymail', coverage: 0.4 } as const;

const FINDYMAIL_MOST = 100;
const DROPCONTACT_CREDITS = 3;

/** `{data:{email,score,…}}`; 404 where there is none. */
export const hunterEmailFinder: Endpoint = {
  method: 'GET',
  path: '/hunter/v2/email-finder',
  ...HUNTER,
  price: { credits: 1, per: 'result' },
  prepare: ({ query }) => {
    const [first_name, last_name] = [queryField(query, 'first_name'), queryField(query, 'last_name')];
    const domain = queryField(query, 'domain');
    return {
      question: { domain, first_name, last_name },
      members: 1,
      work: ({ seed }) => {
        const person = find(seed, HUNTER, { firstName: first_name, lastName: last_name, company: domain });
        if (person === undefined)
          return { status: 404, credits: 0, body: { errors: [{ id: 'not_found', code: 404, details: 'No e-mail.' }] } };
        const { email, title, company } = person;
        const data = { first_name, last_name, email, score: scoreOf(seed, 'hunter', person), domain: company.domain };
        return { status: 200, credits: 1, body: { data: { ...data, position: title, company: company.name } } };
      },
    };
  },
};

/** `{error:false,response:{email:{email,…}}}`; 200 with `{error:true,message:'NO_RESULT'}` where there is none. */
export const prospeoEmailFinder: Endpoint = {
  method: 'POST',
  path: '/prospeo/email-finder',
  ...PROSPEO,
  price: { credits: 1, per: 'result' },
  prepare: ({ body }) => {
    const record = bodyObject(body);
    const [first_name, last_name] = [textField(record, 'first_name'), textField(record, 'last_name')];
    const company = textField(record, 'company');
    return {
      question: { company, first_name, last_name },
      members: 1,
      work: ({ seed }) => {
        const person = find(seed, PROSPEO, { firstName: first_name, lastName: last_name, company });
        if (person === undefined) return { status: 200, credits: 0, body: { error: true, message: 'NO_RESULT' } };
        const email = { email: person.email, email_status: 'VALID', domain: person.company.domain };
        return { status: 200, credits: 1, body: { error: false, response: { email, first_name, last_name } } };
      },
    };
  },
};

/** `{success:true,data:{email:[{email,qualification}],…}}`; an empty list where there is none. */
export const dropcontactEnrich: Endpoint = {
  method: 'POST',
  path: '/dropcontact/enrich',
  ...DROPCONTACT,
  price: { credits: DROPCONTACT_CREDITS, per: 'result' },
  prepare: ({ body }) => {
    const record = bodyObject(body);
    const [first_name, last_name] = [textField(record, 'first_name'), textField(record, 'last_name')];
    const website = textField(record, 'website');
    return {
      question: { first_name, last_name, website },
      members: 1,
      work: ({ seed }) => {
        const person = find(seed, DROPCONTACT, { firstName: first_name, lastName: last_name, company: website });
        const known = { first_name, last_name, website };
        if (person === undefined)
          return { status: 200, credits: 0, body: { success: true, error: false, data: { ...known, email: [] } } };
        const email = [{ email: person.email, qualification: 'nominative@pro' }];
        const data = { ...known, email, company: person.company.name, job: person.title };
        return { status: 200, credits: DROPCONTACT_CREDITS, body: { success: true, error: false, data } };
      },
    };
  },
};

/** Contacts in, one result for each out, in order: `{results:[{email,status}]}`. A bad contact refuses all (422). */
export const findymailBulkFinder: Endpoint = {
  method: 'POST',
  path: '/findymail/bulk/email-finder',
  ...FINDYMAIL,
  price: { credits: 1, per: 'result' },
  maxMembers: FINDYMAIL_MOST,
  prepare: ({ body }) => {
    const contacts = listField(bodyObject(body), 'contacts', FINDYMAIL_MOST).map(contactAt);
    return {
      question: contacts.map((contact) => ({ ...contact })),
      members: contacts.length,
      work: ({ seed }) => {
        const results = contacts.map(({ first_name, last_name, domain, id }) => {
          const person = find(seed, FINDYMAIL, { firstName: first_name, lastName: last_name, company: domain });
          const email = person?.email ?? null;
          const status = email === null ? 'not_found' : 'found';
          return { ...(id !== undefined && { id }), first_name, last_name, domain, email, status };
        });
        // Who gives ids is answered by them and in another order, as by providers that work on all members at once.
        if (contacts.every(({ id }) => id !== undefined)) results.reverse();
        const found = results.filter((result) => result.email !== null).length;
        return { status: 200, credits: found, body: { results, credits_used: found } };
      },
    };
  },
};

interface Contact {
  readonly first_name: string;
  readonly last_name: string;
  readonly domain: string;
  readonly id?: string;
}

function contactAt(item: unknown, index: number): Contact {
  const place = `contacts[${index}]`;
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw new RequestRefused(422, 'member_invalid', `${place} must be an object.`);
  const record = item as Record<string, unknown>;
  const first_name = textField(record, 'first_name', `${place}.first_name`);
  const last_name = textField(record, 'last_name', `${place}.last_name`);
  const domain = textField(record, 'domain', `${place}.domain`);
  const id = record.id === undefined ? {} : { id: textField(record, 'id', `${place}.id`) };
  return { first_name, last_name, domain, ...id };
}

function find(seed: number, { provider, coverage }: Terms, question: PersonQuestion): Person | undefined {
  const person = personOf(seed, question);
  return person && providerKnows(seed, provider, { coverage, person }) ? person : undefined;
}
