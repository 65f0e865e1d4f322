import type { JsonObject } from '../../sdk/index.ts';
import { bodyObject, type Endpoint, listField, queryField, RequestRefused, textField } from '../endpoint.ts';
import { mailStatusOf } from '../people.ts';

const MOST_ADDRESSES = 200;

/** `{address,status,sub_status,…}`; an `unknown` costs nothing. */
export const zerobounceValidate: Endpoint = {
  method: 'GET',
  path: '/zerobounce/v2/validate',
  provider: 'zerobounce',
  price: { credits: 1, per: 'result' },
  prepare: ({ query }) => {
    const email = queryField(query, 'email');
    return {
      question: { email },
      members: 1,
      work: ({ seed }) => {
        const { body, credits } = verdict(seed, email);
        return { status: 200, credits, body };
      },
    };
  },
};

/** `{email_batch:[{email_address}]}` in, `{email_batch:[verdict …],errors:[]}` out, in order. */
export const zerobounceBatch: Endpoint = {
  method: 'POST',
  path: '/zerobounce/v2/validatebatch',
  provider: 'zerobounce',
  price: { credits: 1, per: 'result' },
  maxMembers: MOST_ADDRESSES,
  prepare: ({ body }) => {
    const emails = listField(bodyObject(body), 'email_batch', MOST_ADDRESSES).map((item, index) => {
      const place = `email_batch[${index}]`;
      if (typeof item !== 'object' || item === null)
        throw new RequestRefused(422, 'member_invalid', `${place} must be an object.`);
      return textField(item as Record<string, unknown>, 'email_address', `${place}.email_address`);
    });
    return {
      question: emails,
      members: emails.length,
      work: ({ seed }) => {
        const verdicts = emails.map((email) => verdict(seed, email));
        const credits = verdicts.reduce((sum, one) => sum + one.credits, 0);
        return { status: 200, credits, body: { email_batch: verdicts.map((one) => one.body), errors: [] } };
      },
    };
  },
};

function verdict(seed: number, email: string): { readonly body: JsonObject; readonly credits: number } {
  const { status, subStatus } = mailStatusOf(seed, email);
  const at = email.lastIndexOf('@');
  const parts = { account: at < 0 ? email : email.slice(0, at), domain: at < 0 ? null : email.slice(at + 1) };
  const body = { address: email, status, sub_status: subStatus, ...parts, free_email: false };
  return { body, credits: status === 'unknown' ? 0 : 1 };
}
