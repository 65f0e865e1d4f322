import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { hunterPath, testSandbox } from '../../../test/sandbox-client.ts';
import { FAMILY_NAMES, GIVEN_NAMES, SANDBOX_COMPANIES } from '../index.ts';

const ada = { first_name: 'Ada', last_name: 'Ashvale' };

describe('e-mail finders', () => {
  it('hunter answers {data:{email,score}} for 1 credit, or 404 for none', async () => {
    const sandbox = await testSandbox({ limits: 'off' });
    const names = GIVEN_NAMES.slice(0, 40);
    const answers = await Promise.all(names.map((name) => sandbox.hunter(name)));
    const found = answers.filter((answer) => answer.status === 200);
    expect(found.length).toBeGreaterThan(names.length * 0.25);
    expect(found.length).toBeLessThan(names.length * 0.65);
    for (const { json } of found) {
      expect(json.data.email).toMatch(/^[a-z0-9._]+@stripe\.com$/);
      expect(json.data.score).toBeGreaterThanOrEqual(70);
      expect(json.data.score).toBeLessThan(100);
    }
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(names.length - found.length);
    expect(sandbox.totals()).toMatchObject({ operations: names.length, credits: found.length });
  });

  it('finders miss different people, but know the same address, and charge their own price', async () => {
    const sandbox = await testSandbox({ limits: 'off' });
    const counts = { hunter: 0, prospeo: 0, dropcontact: 0 };
    const asked = SANDBOX_COMPANIES.slice(0, 40).map(async ({ domain }, index) => {
      const name = { first_name: GIVEN_NAMES[index] ?? '', last_name: FAMILY_NAMES[index] ?? '' };
      const [hunter, prospeo, dropcontact] = await Promise.all([
        sandbox.ask(`/hunter/v2/email-finder?${new URLSearchParams({ domain, ...name })}`),
        sandbox.ask('/prospeo/email-finder', { body: { ...name, company: domain } }),
        sandbox.ask('/dropcontact/enrich', { body: { ...name, website: domain } }),
      ]);
      const emails = {
        hunter: hunter.json.data?.email,
        prospeo: prospeo.json.response?.email.email,
        dropcontact: dropcontact.json.data.email[0]?.email,
      };
      for (const finder of Object.keys(counts) as (keyof typeof counts)[]) if (emails[finder]) counts[finder]++;
      const found = Object.values(emails).filter((email) => email !== undefined);
      expect(new Set(found).size).toBe(Math.min(1, found.length));
    });
    await Promise.all(asked);
    for (const count of Object.values(counts)) {
      expect(count).toBeGreaterThan(2);
      expect(count).toBeLessThan(35);
    }
    expect(sandbox.totals().credits).toBe(counts.hunter + counts.prospeo + 3 * counts.dropcontact);
  });

  it('a company that nobody knows gives no result and costs nothing, in each shape', async () => {
    const sandbox = await testSandbox();
    expect((await sandbox.ask(hunterPath('Ada', 'nobody.example'))).status).toBe(404);
    const prospeo = await sandbox.ask('/prospeo/email-finder', { body: { ...ada, company: 'nobody.example' } });
    expect(prospeo.json).toEqual({ error: true, message: 'NO_RESULT' });
    const dropcontact = await sandbox.ask('/dropcontact/enrich', { body: { ...ada, website: 'nobody.example' } });
    expect(dropcontact.json.data.email).toEqual([]);
    expect(sandbox.totals()).toMatchObject({ operations: 3, credits: 0 });
  });

  it('the bulk finder answers each contact in order and charges the found ones', async () => {
    const sandbox = await testSandbox();
    const contacts = GIVEN_NAMES.map((first_name) => ({ first_name, last_name: 'Ashvale', domain: 'sap.com' }));
    const { json } = await sandbox.ask('/findymail/bulk/email-finder', { body: { contacts } });
    expect(json.results.map((result: { first_name: string }) => result.first_name)).toEqual(GIVEN_NAMES);
    const found = json.results.filter((result: { email: string | null }) => result.email !== null);
    expect(found.length).toBeGreaterThan(10);
    expect(sandbox.ledger()).toMatchObject([{ members: GIVEN_NAMES.length, credits: found.length }]);
  });

  it('the bulk finder repeats ids and answers those who give them in another order', async () => {
    const sandbox = await testSandbox();
    const contacts = ['a', 'b', 'c'].map((id) => ({ ...ada, domain: 'sap.com', id }));
    const { json } = await sandbox.ask('/findymail/bulk/email-finder', { body: { contacts } });
    expect(json.results.map((result: { id: string }) => result.id)).toEqual(['c', 'b', 'a']);
  });

  it('one bad contact refuses the whole bulk and names it; too many are a 413', async () => {
    const sandbox = await testSandbox();
    const good = { ...ada, domain: 'sap.com' };
    const poison = await sandbox.ask('/findymail/bulk/email-finder', { body: { contacts: [good, { ...ada }] } });
    expect(poison.status).toBe(422);
    expect(poison.json.error.message).toContain('contacts[1].domain');
    const noObject = await sandbox.ask('/findymail/bulk/email-finder', { body: { contacts: ['Ada'] } });
    expect(noObject.json.error.message).toContain('contacts[0]');
    const many = await sandbox.ask('/findymail/bulk/email-finder', { body: { contacts: Array(101).fill(good) } });
    expect(many.status).toBe(413);
    expect(sandbox.ledger()).toEqual([]);
  });
});

describe('verifier', () => {
  it('knows addresses that cannot be, domains that take no mail, and good ones', async () => {
    const sandbox = await testSandbox({ limits: 'off' });
    const verdict = async (email: string) =>
      (await sandbox.ask(`/zerobounce/v2/validate?${new URLSearchParams({ email })}`)).json;
    expect(await verdict('no at sign')).toMatchObject({ status: 'invalid', sub_status: 'failed_syntax_check' });
    expect(await verdict('ada@nobody.example')).toMatchObject({
      status: 'invalid',
      sub_status: 'does_not_accept_mail',
    });
    expect(sandbox.totals().credits).toBe(2);
    const email_batch = SANDBOX_COMPANIES.slice(0, 200).map(({ domain }) => ({ email_address: `ada@${domain}` }));
    const { json } = await sandbox.ask('/zerobounce/v2/validatebatch', { body: { email_batch } });
    const statuses = json.email_batch.map((one: { status: string }) => one.status);
    expect([...new Set(statuses)].sort()).toEqual(['catch-all', 'invalid', 'unknown', 'valid']);
    const free = statuses.filter((status: string) => status === 'unknown').length;
    expect(sandbox.totals().credits).toBe(2 + 200 - free);
  });

  it('the bulk verifier gives the same verdicts in order', async () => {
    const sandbox = await testSandbox();
    const emails = ['ada@stripe.com', 'broken', 'ben@sap.com'];
    const email_batch = emails.map((email_address) => ({ email_address }));
    const bulk = await sandbox.ask('/zerobounce/v2/validatebatch', { body: { email_batch } });
    for (const [index, email] of emails.entries()) {
      const single = await sandbox.ask(`/zerobounce/v2/validate?${new URLSearchParams({ email })}`);
      expect(bulk.json.email_batch[index]).toEqual(single.json);
    }
    const bad = await sandbox.ask('/zerobounce/v2/validatebatch', { body: { email_batch: [null] } });
    expect(bad.json.error.message).toContain('email_batch[0]');
  });
});

describe('enrichment', () => {
  it('gives public facts of a company by domain, whatever its spelling, and 404 for others', async () => {
    const sandbox = await testSandbox();
    const siemens = await sandbox.ask('/clearbit/v2/companies/find?domain=WWW.Siemens.com');
    expect(siemens.json).toMatchObject({
      name: 'Siemens',
      domain: 'siemens.com',
      geo: { countryCode: 'DE' },
      metrics: { employeesRange: '10001+' },
    });
    expect((await sandbox.ask('/clearbit/v2/companies/find?domain=nobody.example')).status).toBe(404);
    expect(sandbox.totals().credits).toBe(1);
  });

  it('gives a person with title and company, or {person:null}', async () => {
    const sandbox = await testSandbox();
    const people = await Promise.all(
      GIVEN_NAMES.slice(0, 20).map(async (first_name) => {
        const body = { first_name, last_name: 'Ashvale', domain: 'nokia.com' };
        return (await sandbox.ask('/apollo/v1/people/match', { body })).json.person;
      }),
    );
    const found = people.filter((person) => person !== null);
    expect(found.length).toBeGreaterThan(5);
    expect(found.length).toBeLessThan(20);
    expect(found[0]).toMatchObject({ organization: { name: 'Nokia', primary_domain: 'nokia.com', country: 'FI' } });
    expect(sandbox.totals().credits).toBe(found.length);
  });
});

describe('job', () => {
  const start = { firstname: 'Ada', lastname: 'Ashvale', domainOrCompany: 'Stripe' };

  it('runs, then is done with a result; each start is charged and has its own id', async () => {
    const sandbox = await testSandbox({ jobMs: 0 });
    const [first, second] = [
      await sandbox.ask('/icypeas/jobs', { body: start }),
      await sandbox.ask('/icypeas/jobs', { body: start }),
    ];
    expect(first.status).toBe(202);
    expect(first.json.job_id).not.toBe(second.json.job_id);
    const done = await sandbox.ask(`/icypeas/jobs/${first.json.job_id}`);
    expect(done.json).toMatchObject({ status: 'done', result: { certainty: expect.any(String) } });
    expect(sandbox.totals().credits).toBe(4);
  });

  it('is running before its time is over', async () => {
    const sandbox = await testSandbox({ jobMs: 3_600_000 });
    const { json } = await sandbox.ask('/icypeas/jobs', { body: start });
    const poll = await sandbox.ask(`/icypeas/jobs/${json.job_id}`);
    expect(poll.json).toEqual({ job_id: json.job_id, status: 'running', result: null });
  });

  it('that nobody started is a 404', async () => {
    const sandbox = await testSandbox();
    expect((await sandbox.ask('/icypeas/jobs/job_0')).status).toBe(404);
    expect(sandbox.ledger()).toEqual([]);
  });
});

describe('messages', () => {
  const message = { to: 'ada@stripe.com', subject: 'Hello', body: 'Hello Ada', reference: 'r-1' };

  it('sent twice are two, and can be found by reference', async () => {
    const sandbox = await testSandbox();
    const first = await sandbox.ask('/messages/send', { body: message });
    const second = await sandbox.ask('/messages/send', { body: message });
    expect(second.json.message_id).not.toBe(first.json.message_id);
    const { json } = await sandbox.ask('/messages/search?reference=r-1');
    expect(json.messages.map((one: { message_id: string }) => one.message_id)).toEqual([
      first.json.message_id,
      second.json.message_id,
    ]);
    expect((await sandbox.ask('/messages/search?reference=other')).json.messages).toEqual([]);
    expect(sandbox.totals().credits).toBe(2);
  });

  it('to something that is no address are refused', async () => {
    const sandbox = await testSandbox();
    const refused = await sandbox.ask('/messages/send', { body: { ...message, to: 'ada' } });
    expect(refused.status).toBe(422);
  });
});

describe('classifier', () => {
  it('takes the label that shares words with the text, and charges by length', async () => {
    const sandbox = await testSandbox();
    const labels = ['software', 'car maker', 'bank'];
    const short = await sandbox.ask('/llm/classify', { body: { text: 'The oldest bank in town', labels } });
    expect(short.json).toMatchObject({ label: 'bank', model: 'sandbox-classifier-1' });
    await sandbox.ask('/llm/classify', { body: { text: 'x'.repeat(8000), labels } });
    expect(sandbox.ledger().map((entry) => entry.credits)).toEqual([1, 5]);
  });

  it('refuses texts that are too long and labels that are none', async () => {
    const sandbox = await testSandbox();
    expect((await sandbox.ask('/llm/classify', { body: { text: 'x'.repeat(100_001), labels: ['a'] } })).status).toBe(
      413,
    );
    const blank = await sandbox.ask('/llm/classify', { body: { text: 'x', labels: ['a', ' '] } });
    expect(blank.json.error.message).toContain('labels[1]');
    expect((await sandbox.ask('/llm/classify', { body: { text: 'x', labels: [] } })).status).toBe(422);
  });
});

describe('input that cannot be used', () => {
  it('names what is missing, and charges nothing', async () => {
    const sandbox = await testSandbox();
    const noDomain = await sandbox.ask('/hunter/v2/email-finder?first_name=Ada&last_name=Ashvale');
    expect(noDomain.status).toBe(422);
    expect(noDomain.json.error.message).toContain('domain');
    expect((await sandbox.ask('/prospeo/email-finder', { body: '{' })).status).toBe(400);
    expect((await sandbox.ask('/prospeo/email-finder', { body: [] })).status).toBe(400);
    expect((await sandbox.ask('/prospeo/email-finder', { body: { ...ada, company: '  ' } })).status).toBe(422);
    const surrogate = await sandbox.ask('/prospeo/email-finder', {
      body: '{"first_name":"\\ud800","last_name":"A","company":"sap.com"}',
    });
    expect(surrogate.status).toBe(422);
    expect(sandbox.totals()).toMatchObject({ operations: 0, refused: { '400': 2, '422': 3 } });
  });
});

describe('determinism', () => {
  verifies('SANDBOX-SEED-1', 'same seed and input, same answers, in whatever order; another seed, others', async () => {
    const [first, second, other] = [
      await testSandbox({ seed: 7, limits: 'off' }),
      await testSandbox({ seed: 7, limits: 'off' }),
      await testSandbox({ seed: 8, limits: 'off' }),
    ];
    const names = GIVEN_NAMES.slice(0, 15);
    const forwards: string[] = [];
    for (const name of names) forwards.push((await first.hunter(name)).text);
    const backwards: string[] = [];
    for (const name of [...names].reverse()) backwards.unshift((await second.hunter(name)).text);
    const others: string[] = [];
    for (const name of names) others.push((await other.hunter(name)).text);
    expect(backwards).toEqual(forwards);
    expect(others).not.toEqual(forwards);
  });
});
