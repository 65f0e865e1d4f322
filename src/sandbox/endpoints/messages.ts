import { canonicalJson } from '../../scope/index.ts';
import { bodyObject, type Endpoint, queryField, RequestRefused, textField } from '../endpoint.ts';

/** A write: `{to,subject,body,reference?}` in, `{message_id,status:'queued',…}` out. Sent twice, it is two messages. */
export const messagesSend: Endpoint = {
  method: 'POST',
  path: '/messages/send',
  provider: 'messages',
  price: { credits: 1, per: 'call' },
  prepare: ({ body }) => {
    const record = bodyObject(body);
    const to = textField(record, 'to');
    if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(to))
      throw new RequestRefused(422, 'address_invalid', `to is no e-mail address.`);
    const required = { body: textField(record, 'body'), subject: textField(record, 'subject'), to };
    const reference = record.reference === undefined ? undefined : textField(record, 'reference');
    const question = reference === undefined ? required : { ...required, reference };
    return {
      question,
      members: 1,
      work: ({ memory }) => {
        const message_id = memory.nextId('msg', canonicalJson(question));
        return { status: 200, credits: 1, body: { message_id, status: 'queued', to, reference: reference ?? null } };
      },
    };
  },
};

/** Messages that carry a reference: what a client asks when it does not know whether a send was done. */
export const messagesSearch: Endpoint = {
  method: 'GET',
  path: '/messages/search',
  provider: 'messages',
  price: { credits: 0, per: 'call' },
  prepare: ({ query }) => {
    const reference = queryField(query, 'reference');
    return {
      question: { reference },
      members: 1,
      work: ({ memory }) => {
        const messages = memory.messagesWith(reference).map(({ messageId, question, sentAt }) => ({
          message_id: messageId,
          to: question.to ?? null,
          subject: question.subject ?? null,
          reference,
          sent_at: new Date(sentAt).toISOString(),
        }));
        return { status: 200, credits: 0, body: { messages } };
      },
    };
  },
};
