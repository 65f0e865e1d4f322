import { createHmac } from 'node:crypto';
import { json, type ProviderRequest, type TestProvider, testProvider } from './provider.ts';

/** A secret as Slack makes them; the receiver and the stand-in share it. */
export const SIGNING_SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
export const BOT_TOKEN = 'xoxb-test-1';

// biome-ignore lint/suspicious/noExplicitAny: bodies are read loosely by tests
type Any = any;

export interface SlackCard {
  readonly channel: string;
  readonly ts: string;
  /** What the last chat.postMessage or chat.update said. */
  body: Any;
}

/** A local Slack: its Web API, which refuses what the real one refuses, and the people who press buttons. */
export interface SlackStandIn extends TestProvider {
  /** Every card posted, in order. */
  readonly posted: readonly SlackCard[];
  readonly updates: readonly Any[];
  /** What came to the response_url of interactions. */
  readonly replies: readonly Any[];
  /** What was refused, and why: empty where all requests were well-formed. */
  readonly complaints: readonly string[];
  /** Answers the next requests of a method this way instead: an error under `ok: false`, or a status. */
  fail(method: string, ...answers: readonly (string | { status: number; headers?: Record<string, string> })[]): void;
}

interface Reply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: Any;
}

export interface Press {
  readonly option: string;
  readonly user?: string;
  /** What is in the text field. */
  readonly edited?: string;
}

export async function slackStandIn(): Promise<SlackStandIn> {
  const posted: SlackCard[] = [];
  const updates: Any[] = [];
  const replies: Any[] = [];
  const complaints: string[] = [];
  const failures = new Map<string, (string | { status: number; headers?: Record<string, string> })[]>();
  const replyTo = (request: ProviderRequest): Reply => {
    if (request.url.startsWith('/response/')) {
      replies.push(JSON.parse(request.body));
      return { body: { ok: true } };
    }
    const method = request.url.replace('/api/', '');
    const failure = failures.get(method)?.shift();
    if (typeof failure === 'string') return { body: { ok: false, error: failure } };
    if (failure !== undefined) return { ...failure, body: { ok: false } };
    const error = errorOf(method, request);
    if (error === undefined) return { body: answerTo(method, JSON.parse(request.body)) };
    complaints.push(`${method}: ${error}`);
    return { body: { ok: false, error } };
  };
  const answerTo = (method: string, body: Any): Any => {
    if (method === 'chat.postMessage') {
      const ts = `17125011${String(posted.length).padStart(2, '0')}.000100`;
      posted.push({ channel: body.channel, ts, body });
      return { ok: true, channel: body.channel, ts, message: body };
    }
    const card = posted.find((one) => one.ts === body.ts && one.channel === body.channel);
    if (card === undefined) return { ok: false, error: 'message_not_found' };
    card.body = body;
    updates.push(body);
    return { ok: true, channel: body.channel, ts: body.ts, text: body.text };
  };
  const provider = await testProvider((response, request) => {
    const { status = 200, headers = {}, body } = replyTo(request);
    json(response, status, body, headers);
  });
  return {
    ...provider,
    ...{ posted, updates, replies, complaints },
    fail: (method, ...answers) => failures.set(method, [...answers]),
  };
}

const METHODS = ['chat.postMessage', 'chat.update'];

/** What Slack would refuse, by its reference of the methods and of Block Kit. */
function errorOf(method: string, { method: verb, headers, body }: ProviderRequest): string | undefined {
  if (!METHODS.includes(method) || verb !== 'POST') return 'unknown_method';
  if (headers.authorization === undefined) return 'not_authed';
  if (headers.authorization !== `Bearer ${BOT_TOKEN}`) return 'invalid_auth';
  if (!/^application\/json; ?charset=utf-8$/i.test(headers['content-type'] ?? '')) return 'missing_charset';
  const message = JSON.parse(body) as Any;
  if (typeof message.channel !== 'string' || message.channel === '') return 'channel_not_found';
  if (typeof message.text !== 'string' || message.text === '') return 'no_text';
  if (method === 'chat.update' && typeof message.ts !== 'string') return 'message_not_found';
  return blocksProblem(message.blocks);
}

function blocksProblem(blocks: Any): string | undefined {
  if (!Array.isArray(blocks) || blocks.length === 0 || blocks.length > 50) return 'invalid_blocks';
  const ids = blocks.flatMap((block) => block.block_id ?? []);
  if (new Set(ids).size !== ids.length) return 'invalid_blocks';
  return blocks.every(isBlock) ? undefined : 'invalid_blocks';
}

function isBlock(block: Any): boolean {
  if ((block.block_id?.length ?? 0) > 255) return false;
  if (block.type === 'section')
    return isText(block.text, ['mrkdwn', 'plain_text'], 3000) || Array.isArray(block.fields);
  if (block.type === 'context')
    return block.elements.length <= 10 && block.elements.every((one: Any) => isText(one, ['mrkdwn'], 3000));
  if (block.type === 'header') return isText(block.text, ['plain_text'], 150);
  if (block.type === 'input')
    return (
      isText(block.label, ['plain_text'], 2000) && block.element.type === 'plain_text_input' && isId(block.element)
    );
  if (block.type !== 'actions' || !(block.elements.length >= 1 && block.elements.length <= 5)) return false;
  const ids = block.elements.map((one: Any) => one.action_id);
  return new Set(ids).size === ids.length && block.elements.every(isButton);
}

function isButton(button: Any): boolean {
  const styled = button.style === undefined || ['primary', 'danger'].includes(button.style);
  return (
    button.type === 'button' && styled && isId(button) && isText(button.text, ['plain_text'], 75) && isValue(button)
  );
}

function isValue({ value }: Any): boolean {
  return typeof value === 'string' && value.length <= 2000;
}

function isId({ action_id: id }: Any): boolean {
  return typeof id === 'string' && id.length >= 1 && id.length <= 255;
}

function isText(text: Any, types: readonly string[], longest: number): boolean {
  return types.includes(text?.type) && typeof text.text === 'string' && text.text !== '' && text.text.length <= longest;
}

/** A form as Slack sends it when somebody presses a button of a card. */
export function pressed(slack: Pick<SlackStandIn, 'url'>, card: SlackCard, press: Press): string {
  const { option, user = 'U0ADA', edited } = press;
  const actions = card.body.blocks.find((block: Any) => block.type === 'actions');
  const button = actions.elements.find((one: Any) => one.action_id.endsWith(`:${option}`));
  const payload = {
    type: 'block_actions',
    user: { id: user, username: 'ada', name: 'ada', team_id: 'T0' },
    api_app_id: 'A0',
    token: 'legacy',
    container: { type: 'message', message_ts: card.ts, channel_id: card.channel, is_ephemeral: false },
    trigger_id: '1.2.abc',
    team: { id: 'T0', domain: 'test' },
    channel: { id: card.channel, name: 'reviews' },
    message: { type: 'message', bot_id: 'B0', text: card.body.text, ts: card.ts, blocks: card.body.blocks },
    state: {
      values:
        edited === undefined ? {} : { callsheet_edit: { callsheet_text: { type: 'plain_text_input', value: edited } } },
    },
    response_url: `${slack.url}/response/${card.ts}`,
    actions: [{ ...button, block_id: actions.block_id, action_ts: '1.1' }],
  };
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
}

/** Headers of a form that Slack has signed at this instant (ms). */
export function signed(form: string, at = Date.now(), secret = SIGNING_SECRET): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${form}`).digest('hex');
  return {
    'content-type': 'application/x-www-form-urlencoded',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': `v0=${signature}`,
  };
}

/** Sends what somebody pressed to a receiver, signed. */
export async function press(
  slack: SlackStandIn,
  receiver: { readonly url: string },
  what: { readonly card: SlackCard } & Press,
): Promise<{ readonly status: number; readonly body: Any }> {
  const form = pressed(slack, what.card, what);
  const response = await fetch(receiver.url, { method: 'POST', headers: signed(form), body: form });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

export const BUTTONS = [
  { id: 'approve', label: 'Approve', style: 'primary', emit: { decision: 'yes' } },
  { id: 'reject', label: 'Reject', style: 'danger' },
];

/** As many rows, each with a card; their values say what was chosen, by whom and on which card. */
export const rowsPlay = (count: number): string => `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: ${count} }, (_, n) => ({ n: 'r' + n })))
    .withColumn('v', async (row, ctx) => {
      const input = { channel: 'C0REVIEWS', text: 'Row ' + row.n, buttons: ${JSON.stringify(BUTTONS)} };
      const { data } = await ctx.tools.execute({ id: 'ok', tool: 'slack_message_with_hitl', input });
      return row.n + ' ' + data.selected_option + ' by ' + data.actor.slack_user_id + ' on ' + data.message_ref.ts;
    })
    .run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.v);
}`;
