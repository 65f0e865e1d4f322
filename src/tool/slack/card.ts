import type { ArmedWait, JsonObject, JsonValue } from '../../sdk/index.ts';

/** One button, and what is added to the answer when it is pressed. */
export interface CardButton {
  readonly id: string;
  readonly label: string;
  readonly style?: 'primary' | 'danger';
  readonly emit?: JsonObject;
}

/** What people see. `text` is also the notification; `blocks` takes its place in the card. */
export interface Card {
  readonly text: string;
  readonly blocks?: readonly JsonObject[];
  readonly buttons: readonly CardButton[];
  /** Adds a field with the text, which may be changed before a button is pressed. */
  readonly allow_edit?: boolean;
}

/** A chosen button as its `value` carries it: which wait it answers, and with what. */
export interface Choice {
  readonly run: string;
  readonly wait: number;
  readonly option: string;
  readonly emit: JsonObject | null;
}

/** Slack takes 2,000 characters as the value of a button; this much of it is left for a button's id and `emit`. */
export const LARGEST_CHOICE = 1_850;

export const ACTION_PREFIX = 'callsheet:';
export const BLOCKS = { buttons: 'callsheet_buttons', edit: 'callsheet_edit' } as const;
export const EDIT_ACTION = 'callsheet_text';

interface Destination {
  readonly channel: string;
  readonly message_ref?: { readonly channel: string; readonly ts: string };
  readonly thread_ts?: string;
}

/** The body of chat.postMessage, or of chat.update where a card is there. */
export function cardMessage(input: Card & Destination, wait: ArmedWait): JsonObject {
  const { channel, message_ref: card, thread_ts: thread } = input;
  const where = card === undefined ? { channel } : { channel: card.channel, ts: card.ts };
  const inThread = card === undefined && thread !== undefined ? { thread_ts: thread } : {};
  const blocks = [...contentOf(input), ...editOf(input), buttonsOf(input.buttons, wait)];
  return { ...where, ...inThread, text: input.text, blocks };
}

/** What chat.update makes of a card that nobody answered: no buttons any more. */
export function expiredMessage(card: Card): JsonObject {
  const note = ':hourglass: The time for an answer is over.';
  return { text: `${card.text}\n${note}`, blocks: [...contentOf(card), noteOf(note)] };
}

/** A block of small print. */
export function noteOf(text: string): JsonObject {
  return { type: 'context', elements: [{ type: 'mrkdwn', text }] };
}

function contentOf({ text, blocks }: Card): readonly JsonValue[] {
  return blocks ?? [{ type: 'section', text: { type: 'mrkdwn', text } }];
}

function editOf({ text, allow_edit: mayEdit }: Card): readonly JsonValue[] {
  if (mayEdit !== true) return [];
  const element = { type: 'plain_text_input', action_id: EDIT_ACTION, multiline: true, initial_value: text };
  const label = { type: 'plain_text', text: 'Edit before you choose' };
  return [{ type: 'input', block_id: BLOCKS.edit, optional: true, label, element }];
}

function buttonsOf(buttons: readonly CardButton[], { id, runId }: ArmedWait): JsonObject {
  const elements = buttons.map(({ id: option, label, style, emit = null }) => ({
    type: 'button',
    action_id: `${ACTION_PREFIX}${option}`,
    text: { type: 'plain_text', text: label },
    value: JSON.stringify({ run: runId, wait: id, option, emit } satisfies Choice),
    ...(style !== undefined && { style }),
  }));
  return { type: 'actions', block_id: BLOCKS.buttons, elements };
}
