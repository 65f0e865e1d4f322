import { canonicalJson } from '../../scope/index.ts';
import type { JsonObject } from '../../sdk/index.ts';
import { bodyObject, type Endpoint, RequestRefused, textField } from '../endpoint.ts';
import { personOf, providerKnows } from '../people.ts';

const COVERAGE = 0.5;
const JOB_CREDITS = 2;

/**
 * Starts a search: 202 `{job_id,status:'queued'}`. It is charged here, whatever it finds: a job that is started twice
 * costs twice.
 */
export const icypeasStart: Endpoint = {
  method: 'POST',
  path: '/icypeas/jobs',
  provider: 'icypeas',
  coverage: COVERAGE,
  price: { credits: JOB_CREDITS, per: 'call' },
  prepare: ({ body }) => {
    const record = bodyObject(body);
    const question = {
      domainOrCompany: textField(record, 'domainOrCompany'),
      firstname: textField(record, 'firstname'),
      lastname: textField(record, 'lastname'),
    };
    return {
      question,
      members: 1,
      work: ({ memory }) => {
        const job_id = memory.nextId('job', canonicalJson(question));
        return { status: 202, credits: JOB_CREDITS, body: { job_id, status: 'queued' } };
      },
    };
  },
};

/** `{job_id,status:'running'|'done',result}`; `result` is null while it runs, `{email:null}` where nothing was found. */
export function icypeasPoll(jobMs: number): Endpoint {
  return {
    method: 'GET',
    path: '/icypeas/jobs/:id',
    provider: 'icypeas',
    price: { credits: 0, per: 'call' },
    prepare: ({ id }) => ({
      question: { job_id: id },
      members: 1,
      work: ({ seed, memory, now }) => {
        const job = memory.job(id);
        if (job === undefined) throw new RequestRefused(404, 'job_not_found', `There is no job ${id}.`);
        if (now - job.startedAt < jobMs)
          return { status: 200, credits: 0, body: { job_id: id, status: 'running', result: null } };
        return { status: 200, credits: 0, body: { job_id: id, status: 'done', result: resultOf(seed, job.question) } };
      },
    }),
  };
}

function resultOf(seed: number, question: JsonObject): JsonObject {
  const person = personOf(seed, {
    firstName: String(question.firstname),
    lastName: String(question.lastname),
    company: String(question.domainOrCompany),
  });
  const known = person !== undefined && providerKnows(seed, 'icypeas', { coverage: COVERAGE, person });
  return known ? { email: person.email, certainty: 'probable' } : { email: null, certainty: 'not_found' };
}
