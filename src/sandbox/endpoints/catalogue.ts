import type { Endpoint } from '../endpoint.ts';
import { llmClassify } from './classifier.ts';
import { apolloPeopleMatch, clearbitCompanyFind } from './enrichment.ts';
import { dropcontactEnrich, findymailBulkFinder, hunterEmailFinder, prospeoEmailFinder } from './finders.ts';
import { icypeasPoll, icypeasStart } from './jobs.ts';
import { messagesSearch, messagesSend } from './messages.ts';
import { zerobounceBatch, zerobounceValidate } from './verifiers.ts';

/** Everything that the sandbox sells. */
export function sandboxEndpoints(jobMs: number): readonly Endpoint[] {
  return [
    hunterEmailFinder,
    prospeoEmailFinder,
    dropcontactEnrich,
    findymailBulkFinder,
    zerobounceValidate,
    zerobounceBatch,
    apolloPeopleMatch,
    clearbitCompanyFind,
    icypeasStart,
    icypeasPoll(jobMs),
    messagesSend,
    messagesSearch,
    llmClassify,
  ];
}
