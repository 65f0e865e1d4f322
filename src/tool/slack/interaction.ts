import { createHmac, timingSafeEqual } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../sdk/index.ts';
import { ACTION_PREFIX, BLOCKS, type Choice, EDIT_ACTION, noteOf } from './card.ts';

/** A request that says it comes from Slack. Header names are in lower case. */
export interface SlackRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body as it came: what is signed is its bytes. */
  readonly rawBody: Uint8Array;
  readonly signingSecret: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What an interaction is about. */
export type Interaction =
  /** A button of a card was pressed: an answer to one wait. */
  | {
      readonly kind: 'answer';
      readonly runId: string;
      readonly waitNo: number;
      /** What the wait is answered with. */
      readonly payload: JsonObject;
      /** Where Slack takes what becomes of the message; undefined where it named no such place. */
      readonly responseUrl: string | undefined;
      /** What the card becomes once the answer stands. */
      readonly accepted: JsonObject;
    }
  /** Slack's, but nothing that a wait is answered with: acknowledged, and no more. */
  | { readonly kind: 'other' }
  /** 401: not signed by Slack, or too long ago; 400: no interaction. */
  | { readonly kind: 'refused'; readonly status: 400 | 401; readonly reason: string };

/** How far the time of a request may be from ours, in seconds, against replays. */
const TOLERANCE_S = 300;

/**
 * Checks that a request is Slack's and reads its interaction. Signature: docs.slack.dev/authentication/verifying-requests-from-slack;
 * payload: docs.slack.dev/reference/interaction-payloads/block_actions-payload. Pure.
 */
export function readInteraction(request: SlackRequest): Interaction {
  const problem = signatureProblem(request);
  if (problem !== undefined) return { kind: 'refused', status: 401, reason: problem };
  const payload = payloadOf(request.rawBody);
  if (payload === undefined)
    return { kind: 'refused', status: 400, reason: 'the body is no form with a JSON field `payload`' };
  return interactionOf(payload);
}

/** The form of `X-Slack-Signature` for a body: `v0=` and an HMAC-SHA256 in hexadecimal digits. */
export function slackSignature(signingSecret: string, timestamp: string, rawBody: Uint8Array): string {
  const hmac = createHmac('sha256', signingSecret).update(`v0:${timestamp}:`).update(rawBody);
  return `v0=${hmac.digest('hex')}`;
}

function signatureProblem({ headers, rawBody, signingSecret, now }: SlackRequest): string | undefined {
  const timestamp = headers['x-slack-request-timestamp'];
  const signature = headers['x-slack-signature'];
  if (typeof timestamp !== 'string' || typeof signature !== 'string') return 'it is not signed';
  if (!/^\d{1,12}$/.test(timestamp)) return 'its timestamp is none';
  const expected = Buffer.from(slackSignature(signingSecret, timestamp, rawBody));
  const given = Buffer.from(signature);
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) return 'its signature is wrong';
  if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_S) return 'it was sent more than five minutes ago';
  return undefined;
}

interface Payload {
  readonly type?: unknown;
  readonly actions?: unknown;
  readonly user?: { readonly id?: unknown; readonly username?: unknown };
  readonly channel?: { readonly id?: unknown };
  readonly container?: { readonly channel_id?: unknown; readonly message_ts?: unknown };
  readonly message?: { readonly ts?: unknown; readonly text?: unknown; readonly blocks?: unknown };
  readonly state?: { readonly values?: Readonly<Record<string, Readonly<Record<string, { value?: unknown }>>>> };
  readonly response_url?: unknown;
}

function payloadOf(rawBody: Uint8Array): Payload | undefined {
  const text = new URLSearchParams(Buffer.from(rawBody).toString('utf8')).get('payload');
  const payload = text === null ? undefined : parsed(text);
  return typeof payload === 'object' && payload !== null ? (payload as Payload) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Pressed {
  readonly choice: Choice;
  readonly label: string;
}

function interactionOf(payload: Payload): Interaction {
  const pressed = payload.type === 'block_actions' ? pressedOf(payload.actions) : undefined;
  if (pressed === undefined) return { kind: 'other' };
  const { run: runId, wait: waitNo, option, emit } = pressed.choice;
  const { user, channel, container, message, state, response_url: url } = payload;
  const userId = textOf(user?.id);
  return {
    kind: 'answer',
    runId,
    waitNo,
    payload: {
      selected_option: option,
      emit,
      final_text: textOf(state?.values?.[BLOCKS.edit]?.[EDIT_ACTION]?.value),
      slack_user_id: userId,
      slack_user_name: textOf(user?.username),
      slack_channel_id: textOf(channel?.id) ?? textOf(container?.channel_id),
      message_ts: textOf(message?.ts) ?? textOf(container?.message_ts),
    },
    responseUrl: textOf(url) ?? undefined,
    accepted: acceptedCard(message, { label: pressed.label, userId }),
  };
}

/** The button of ours that was pressed, if one was. */
function pressedOf(actions: unknown): Pressed | undefined {
  for (const action of Array.isArray(actions) ? actions : []) {
    const {
      action_id: id,
      value,
      text,
    } = (action ?? {}) as { action_id?: unknown; value?: unknown; text?: { text?: unknown } };
    if (typeof id !== 'string' || !id.startsWith(ACTION_PREFIX) || typeof value !== 'string') continue;
    const choice = choiceOf(parsed(value));
    if (choice !== undefined) return { choice, label: textOf(text?.text) ?? choice.option };
  }
  return undefined;
}

function choiceOf(value: unknown): Choice | undefined {
  const { run, wait, option, emit = null } = (value ?? {}) as Partial<Choice>;
  if (typeof run !== 'string' || typeof option !== 'string' || !Number.isSafeInteger(wait)) return undefined;
  return { run, wait: wait as number, option, emit };
}

/** The card without what may be pressed, and with who pressed what. */
function acceptedCard(
  message: Payload['message'],
  { label, userId }: { readonly label: string; readonly userId: string | null },
): JsonObject {
  const note = `:white_check_mark: *${label}*${userId === null ? '' : ` by <@${userId}>`}`;
  const blocks = (Array.isArray(message?.blocks) ? message.blocks : []) as readonly JsonObject[];
  const ours: readonly JsonValue[] = Object.values(BLOCKS);
  const content = blocks.filter((block) => !ours.includes(block.block_id ?? null));
  return {
    replace_original: true,
    text: `${textOf(message?.text) ?? ''}\n${note}`,
    blocks: [...content, noteOf(note)],
  };
}

/** What only the one who pressed sees where the wait was over before. */
export const ALREADY_ANSWERED: JsonObject = {
  response_type: 'ephemeral',
  replace_original: false,
  text: 'This was already answered, or its time is over. Nothing has changed.',
};

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
