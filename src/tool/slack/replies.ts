import type { Clock } from '../../scope/index.ts';
import type { JsonObject } from '../../sdk/index.ts';
import { openHttpClient } from '../http-client.ts';

/** Sends what becomes of a message to the `response_url` of an interaction. */
export interface SlackReplies {
  /** Resolves to what went wrong, for people, or undefined. Never rejects. */
  send(responseUrl: string, reply: JsonObject): Promise<string | undefined>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;

/** A sender of replies (docs.slack.dev/interactivity/handling-user-interaction, "Message responses"). */
export function slackReplies({ clock }: { readonly clock: Clock }): SlackReplies {
  const client = openHttpClient({ clock });
  const signal = new AbortController().signal;
  return {
    async send(responseUrl, reply) {
      const url = URL.canParse(responseUrl) ? new URL(responseUrl) : undefined;
      if (url === undefined || !/^https?:$/.test(url.protocol)) return 'its response_url is none';
      const request = {
        method: 'POST',
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        headers: ['content-type', 'application/json; charset=utf-8', 'user-agent', 'callsheet'],
        body: JSON.stringify(reply),
        label: `POST ${url.origin}`,
      };
      const got = await client.exchange(request, { accountKey: 'slack/response_url', timeoutMs: TIMEOUT_MS, signal });
      if (got.kind === 'break') return got.said;
      return got.status < 300 ? undefined : `Slack answered ${got.status}`;
    },
    close: () => client.close(),
  };
}
