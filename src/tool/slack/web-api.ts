import type { Ending, ToolReading } from '../../sdk/index.ts';

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what Slack says before it is read
  readonly json: any;
}

/**
 * Errors that Slack reports under `ok: false` with status 200, by what they mean for what was asked
 * (docs.slack.dev/reference/methods/chat.postMessage, "Errors"). All others say that it was not done.
 */
const ENDINGS: Readonly<Record<string, Ending>> = {
  ratelimited: 'deferred',
  rate_limited: 'deferred',
  team_added_to_org: 'deferred',
  // "Some aspect of the operation may have succeeded."
  internal_error: 'ambiguous',
  fatal_error: 'ambiguous',
  service_unavailable: 'ambiguous',
};

/** How a request of the Web API ended; undefined leaves it to the status. */
export function slackEnding({ status, json }: Answer): Ending | undefined {
  if (status !== 200 || json?.ok !== false) return undefined;
  return ENDINGS[String(json.error)] ?? 'rejected';
}

/** Messages that are gone, or may not be changed any more, need no closing. */
const NOTHING_TO_CLOSE: readonly unknown[] = ['message_not_found', 'edit_window_closed'];

/** As `slackEnding`, of the chat.update that closes a card. */
export function slackTakenBack(answer: Answer): Ending | undefined {
  if (answer.json?.ok === false && NOTHING_TO_CLOSE.includes(answer.json.error)) return 'answered';
  return slackEnding(answer);
}

/** The message that Slack made or changed: `{ channel, ts }`. */
export function slackTaken({ json }: Pick<Answer, 'json'>): ToolReading {
  const { ok, channel, ts } = json ?? {};
  if (ok !== true || typeof channel !== 'string' || typeof ts !== 'string')
    throw new Error('Slack answered without { ok: true, channel, ts }');
  return { status: 'completed', data: { channel, ts } };
}
