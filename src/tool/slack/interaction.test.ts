import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type Interaction, readInteraction, slackSignature } from './interaction.ts';

const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const NOW = 1_531_420_618_000;

const formOf = (payload: unknown): string => new URLSearchParams({ payload: JSON.stringify(payload) }).toString();

function read(form: string, more: { headers?: Record<string, string>; now?: number } = {}): Interaction {
  const rawBody = Buffer.from(form);
  const headers = {
    'x-slack-request-timestamp': String(NOW / 1000),
    'x-slack-signature': slackSignature(SECRET, String(NOW / 1000), rawBody),
    ...more.headers,
  };
  return readInteraction({ headers, rawBody, signingSecret: SECRET, now: more.now ?? NOW });
}

const value = (more: object = {}): string =>
  JSON.stringify({ run: 'run_1', wait: 7, option: 'yes', emit: { a: 1 }, ...more });
const click = (more: object = {}) => ({
  type: 'block_actions',
  user: { id: 'U1', username: 'ada' },
  channel: { id: 'C1' },
  message: { ts: '1.2', text: 'hi', blocks: [] },
  response_url: 'https://hooks.slack.com/actions/1',
  actions: [{ type: 'button', action_id: 'callsheet:yes', value: value(), text: { text: 'Yes' } }],
  ...more,
});

describe('an interaction', () => {
  verifies('SLACK-SIGNATURE-1', 'is signed as in the example of the documentation', () => {
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    expect(slackSignature(SECRET, '1531420618', Buffer.from(body))).toBe(
      'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    );
  });

  verifies('SLACK-SIGNATURE-1', 'is refused where signature or time is wrong', () => {
    const form = formOf(click());
    expect(read(form).kind).toBe('answer');
    const refused = { kind: 'refused', status: 401 };
    const other = slackSignature(SECRET, String(NOW / 1000), Buffer.from(`${form} `));
    for (const headers of [
      { 'x-slack-signature': other },
      { 'x-slack-signature': 'v0=' },
      { 'x-slack-signature': other.replace('v0', 'v1') },
      { 'x-slack-request-timestamp': String(NOW / 1000 + 1) },
      { 'x-slack-request-timestamp': 'now' },
    ])
      expect([headers, read(form, { headers: headers as Record<string, string> })]).toMatchObject([headers, refused]);
    expect(read(form, { now: NOW + 300_000 }).kind).toBe('answer');
    expect(read(form, { now: NOW + 301_000 })).toMatchObject(refused);
    expect(read(form, { now: NOW - 301_000 })).toMatchObject(refused);
  });

  verifies('SLACK-ANSWER-1', 'names the wait, what was chosen, and by whom', () => {
    expect(read(formOf(click()))).toMatchObject({
      kind: 'answer',
      runId: 'run_1',
      waitNo: 7,
      payload: { selected_option: 'yes', emit: { a: 1 }, final_text: null, slack_user_id: 'U1', message_ts: '1.2' },
      responseUrl: 'https://hooks.slack.com/actions/1',
      accepted: { replace_original: true, text: 'hi\n:white_check_mark: *Yes* by <@U1>' },
    });
  });

  verifies('SLACK-ANSWER-1', 'is none where no button of ours was pressed', () => {
    const action = { type: 'button', action_id: 'callsheet:yes', value: value() };
    for (const actions of [
      undefined,
      [],
      [null],
      [{ ...action, action_id: 'theirs' }],
      [{ ...action, value: 'no json' }],
      [{ ...action, value: value({ wait: '7' }) }],
      [{ ...action, value: value({ run: 1 }) }],
    ])
      expect([actions, read(formOf(click({ actions })))]).toEqual([actions, { kind: 'other' }]);
    expect(read(formOf({ type: 'view_submission' }))).toEqual({ kind: 'other' });
    for (const form of ['', 'payload=', 'payload=1', 'payload={'])
      expect([form, read(form)]).toMatchObject([form, { kind: 'refused', status: 400 }]);
  });
});
