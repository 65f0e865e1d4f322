import { CallsheetError, defineTool, type EventTimeoutMode, type JsonObject, type Tool } from '../../sdk/index.ts';
import { type Card, type CardButton, cardMessage, expiredMessage, LARGEST_CHOICE } from '../slack/card.ts';
import { slackEnding, slackTaken, slackTakenBack } from '../slack/web-api.ts';
import { ON_TIMEOUT_MODE, TIMEOUT } from './timeout-input.ts';

type Mode = EventTimeoutMode | 'continue';

interface Asked extends Card {
  /** A channel's id (C0123456789), or a user's for a direct message. */
  readonly channel: string;
  /** The card of an earlier call, which takes the place of a new one. */
  readonly message_ref?: { readonly channel: string; readonly ts: string };
  /** The message to reply to in its thread. */
  readonly thread_ts?: string;
  /** The event's name, for `callsheet signal`; 'slack_message_with_hitl' if none is given. */
  readonly signal?: string;
  readonly timeout?: string | number | null;
  readonly on_timeout_mode?: Mode;
}

interface Clicked {
  readonly selected_option?: unknown;
  readonly emit?: unknown;
  readonly final_text?: unknown;
  readonly slack_user_id?: unknown;
  readonly slack_channel_id?: unknown;
  readonly message_ts?: unknown;
}

type MessageRef = { readonly channel: string; readonly ts: string } | null;

const ID = 'slack_message_with_hitl';
const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength }) as const;
const REF = {
  type: 'object',
  required: ['channel', 'ts'],
  properties: { channel: text(100), ts: text(100) },
} as const;

const INPUT = {
  type: 'object',
  required: ['channel', 'text', 'buttons'],
  additionalProperties: false,
  properties: {
    channel: text(100),
    text: text(3000),
    blocks: { type: 'array', minItems: 1, maxItems: 40, items: { type: 'object', required: ['type'] } },
    buttons: {
      type: 'array',
      minItems: 1,
      maxItems: 5,
      items: {
        type: 'object',
        required: ['id', 'label'],
        additionalProperties: false,
        properties: {
          id: text(200),
          label: text(75),
          style: { enum: ['primary', 'danger'] },
          emit: { type: 'object' },
        },
      },
    },
    allow_edit: { type: 'boolean' },
    message_ref: REF,
    thread_ts: text(100),
    signal: text(200),
    timeout: TIMEOUT,
    on_timeout_mode: { enum: [...ON_TIMEOUT_MODE.enum, 'continue'] },
  },
} as const;

/**
 * Posts a card with one to five buttons to Slack and waits until somebody presses one. Sent with chat.postMessage, or
 * chat.update where `message_ref` names a card (docs.slack.dev/reference/methods). Data: `{ resumed: true, timed_out:
 * false, selected_option, event_payload, final_text, edited, signal, actor, message_ref }`; where nobody answers
 * `{ timedOut: true, resumed: false, timed_out: true, event_payload: null, message_ref }`. Limits of texts and buttons are
 * those of Block Kit (docs.slack.dev/reference/block-kit).
 *
 * `limits`: Slack takes about one message a second and channel (docs.slack.dev/apis/web-api/rate-limits). Of
 * another host than Slack's nothing is known, so there is none.
 */
export function slackMessage({ isSlack }: { readonly isSlack: boolean }): Tool {
  return defineTool<Asked>({
    id: ID,
    provider: 'slack',
    description: 'posts a Slack card with buttons and waits for somebody to press one',
    effect: ({ message_ref: card }) => (card === undefined ? 'write' : 'idempotent'),
    input: INPUT,
    secrets: ['SLACK_BOT_TOKEN'],
    extract: { selected_option: 'data.selected_option', final_text: 'data.final_text' },
    ...(isSlack && { limits: { rate: [{ calls: 1, per: '1s' }] } }),
    event: {
      // Asked before anything is armed or sent, so that a wrong card is refused then.
      name: (input) => checked(input).signal ?? ID,
      timeout: ({ timeout }) => timeout,
      mode: ({ on_timeout_mode: mode }) => (mode === 'continue' ? 'null' : mode),
      question: ({ text: asked, buttons }) => `${asked} (${buttons.map(({ id }) => id).join(' / ')})`,
      arm: {
        request: ({ input, wait, secret }) => request(secret, methodOf(input), cardMessage(input, wait)),
        classify: slackEnding,
        response: slackTaken,
      },
      onEvent: ({ payload, input, armed, wait }) => answered(input, { payload, armed, signal: wait.event }),
      onTimeout: {
        request: ({ input, armed, secret }) => request(secret, 'chat.update', { ...armed, ...expiredMessage(input) }),
        classify: slackTakenBack,
      },
      timedOut: ({ armed }) => ({ resumed: false, timed_out: true, event_payload: null, message_ref: armed }),
    },
  });
}

function request(secret: (name: string) => string, method: string, body: object) {
  return {
    method: 'POST',
    url: `https://slack.com/api/${method}`,
    headers: {
      authorization: `Bearer ${secret('SLACK_BOT_TOKEN')}`,
      'content-type': 'application/json; charset=utf-8',
    },
    body,
  };
}

function methodOf({ message_ref: card }: Asked): string {
  return card === undefined ? 'chat.postMessage' : 'chat.update';
}

function checked(input: Asked): Asked {
  const { buttons } = input;
  const refuse = (problem: string, field: string): CallsheetError =>
    new CallsheetError('TOOL_INPUT_INVALID', `The input of ${ID} does not fit: ${field} ${problem}.`, {
      details: { tool: ID, field },
      next: [`callsheet tools describe ${ID}`],
    });
  for (const [index, { id, emit }] of buttons.entries()) {
    const field = `buttons[${index}]`;
    if (buttons.findIndex((one) => one.id === id) !== index) throw refuse(`repeats the id '${id}'`, `${field}.id`);
    if (JSON.stringify({ id, emit }).length > LARGEST_CHOICE)
      throw refuse(
        `is longer than Slack lets a button carry (${LARGEST_CHOICE} characters with the id)`,
        `${field}.emit`,
      );
  }
  return input;
}

/** What was pressed, in the shape that plays of the hosted product read. */
function answered(
  input: Asked,
  { payload, armed, signal }: { readonly payload: Clicked | null; readonly armed: MessageRef; readonly signal: string },
) {
  const clicked = payload ?? {};
  const option = textOf(clicked.selected_option);
  const channel = textOf(clicked.slack_channel_id);
  const user = textOf(clicked.slack_user_id);
  const finalText = textOf(clicked.final_text) ?? input.text;
  const facts = {
    selected_option: option,
    final_text: finalText,
    edited: finalText !== input.text,
    slack_user_id: user,
    slack_channel_id: channel,
  };
  const ts = textOf(clicked.message_ts);
  const seen = channel === null || ts === null ? null : { channel, ts };
  return {
    resumed: true,
    timed_out: false,
    selected_option: option,
    event_payload: { ...facts, ...emitOf(input.buttons, clicked) },
    final_text: finalText,
    edited: facts.edited,
    signal,
    actor: { slack_user_id: user, slack_channel_id: channel },
    message_ref: armed ?? seen,
  };
}

/** What the button carries; somebody who signals by hand names the button only. */
function emitOf(buttons: readonly CardButton[], { selected_option: option, emit }: Clicked): JsonObject {
  if (typeof emit === 'object' && emit !== null) return emit as JsonObject;
  return buttons.find(({ id }) => id === option)?.emit ?? {};
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
