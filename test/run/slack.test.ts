import { request as httpRequest } from 'node:http';
import { describe, expect, onTestFinished } from 'vitest';
import { runReport } from '../../src/report/index.ts';
import {
  existingRun,
  reportSource,
  type SlackReceiver,
  startSlackReceiver,
  type Workspace,
} from '../../src/workspace/index.ts';
import { crash, laterClock, zeroChance } from '../harness/crash.ts';
import {
  BOT_TOKEN,
  BUTTONS,
  press,
  pressed,
  rowsPlay,
  SIGNING_SECRET,
  type SlackStandIn,
  signed,
  slackStandIn,
} from '../harness/slack.ts';
import { attempt, openTest, putFile, queued, runPlay, type TestOpenOptions, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

// biome-ignore lint/suspicious/noExplicitAny: cards and plays are read loosely
type Any = any;

const ENV = { SLACK_BOT_TOKEN: BOT_TOKEN, SLACK_SIGNING_SECRET: SIGNING_SECRET };
function slackFolder(slack: SlackStandIn): string {
  const dir = testFolder();
  const config = `export default { providers: { slack: { baseUrl: '${slack.url}' } } };`;
  putFile(dir, 'callsheet.config.mjs', config);
  return dir;
}

const openSlack = (dir: string, options: TestOpenOptions = {}): Promise<Workspace> =>
  openTest(dir, { env: ENV, ...options });

async function receive(workspace: Workspace, more: Any = {}): Promise<SlackReceiver> {
  const receiver = await startSlackReceiver(workspace, { port: 0, ...more });
  onTestFinished(() => receiver.close());
  return receiver;
}

const askPlay = (more: object = {}): string => {
  const input = { channel: 'C0REVIEWS', text: 'Send it?', buttons: BUTTONS, ...more };
  return `async (ctx) => {
    try { return (await ctx.tools.execute({ id: 'ok', tool: 'slack_message_with_hitl', input: ${JSON.stringify(input)} })).data; }
    catch (error) { return { caught: error.code, message: error.message }; }
  }`;
};

describe('a card', () => {
  verifies(['SLACK-CARD-1', 'SLACK-ANSWER-1'], 'is posted as Slack takes it; who presses decides', async () => {
    const slack = await slackStandIn();
    const workspace = await openSlack(slackFolder(slack));
    const { run, outcome } = await runPlay(workspace, askPlay());
    expect([outcome.kind, slack.complaints, slack.posted.length]).toEqual(['suspended', [], 1]);
    const [card] = slack.posted as [Any];
    expect(card.body).toEqual({
      channel: 'C0REVIEWS',
      text: 'Send it?',
      blocks: [
        { type: 'section', text: { type: 'mrkdwn', text: 'Send it?' } },
        {
          type: 'actions',
          block_id: 'callsheet_buttons',
          elements: [
            {
              type: 'button',
              action_id: 'callsheet:approve',
              text: { type: 'plain_text', text: 'Approve' },
              style: 'primary',
              value: JSON.stringify({ run: run.id, wait: 1, option: 'approve', emit: { decision: 'yes' } }),
            },
            expect.objectContaining({ action_id: 'callsheet:reject', style: 'danger' }),
          ],
        },
      ],
    });
    const receiver = await receive(workspace);
    const answered = await press(slack, receiver, { card, option: 'approve' });
    expect(answered.status).toBe(200);
    const { result } = await attempt(workspace, run.id);
    expect(result).toEqual({
      resumed: true,
      timed_out: false,
      selected_option: 'approve',
      event_payload: {
        selected_option: 'approve',
        final_text: 'Send it?',
        edited: false,
        slack_user_id: 'U0ADA',
        slack_channel_id: 'C0REVIEWS',
        decision: 'yes',
      },
      final_text: 'Send it?',
      edited: false,
      signal: 'slack_message_with_hitl',
      actor: { slack_user_id: 'U0ADA', slack_channel_id: 'C0REVIEWS' },
      message_ref: { channel: 'C0REVIEWS', ts: card.ts },
    });
    await receiver.close();
    expect(slack.replies).toEqual([
      expect.objectContaining({
        replace_original: true,
        blocks: [
          { type: 'section', text: { type: 'mrkdwn', text: 'Send it?' } },
          { type: 'context', elements: [{ type: 'mrkdwn', text: ':white_check_mark: *Approve* by <@U0ADA>' }] },
        ],
      }),
    ]);
  });

  verifies(
    'SLACK-ANSWER-1',
    'of each of 500 rows brings its own answer, over kills and in any order',
    async () => {
      const slack = await slackStandIn();
      const dir = slackFolder(slack);
      const workspace = await openSlack(dir);
      const run = await queued(workspace, rowsPlay(500));
      await crash(workspace, run.id, (write) => write.kind === 'row' && write.row.state === 'parked');
      const second = await openSlack(dir, { clock: laterClock(60_000) });
      expect((await attempt(second, run.id)).outcome.kind).toBe('suspended');
      expect([slack.posted.length, slack.complaints]).toEqual([500, []]);
      const receiver = await receive(workspace);
      const order = Array.from({ length: 500 }, (_, index) => (index * 7 + 3) % 500);
      for (const [index, at] of order.entries()) {
        const card = slack.posted[at] as Any;
        await press(slack, receiver, { card, option: at % 3 === 0 ? 'reject' : 'approve', user: `U${at}` });
        if (index % 200 !== 50) continue;
        const third = await openSlack(dir, { clock: laterClock(120_000 * (index + 1)) });
        await crash(third, run.id, (write) => write.kind === 'row');
      }
      const last = await openSlack(dir, { clock: laterClock(120_000 * 600) });
      const { result } = await attempt(last, run.id);
      const expected = slack.posted.map(({ body, ts }, at) => {
        const name = body.text.replace('Row ', '');
        return `${name} ${at % 3 === 0 ? 'reject' : 'approve'} by U${at} on ${ts}`;
      });
      expect([...result].sort()).toEqual(expected.sort());
      expect(slack.posted.length).toBe(500);
    },
    60_000,
  );

  verifies('SLACK-CARD-1', 'may be edited, takes the place of an earlier one, or replies in a thread', async () => {
    const slack = await slackStandIn();
    const workspace = await openSlack(slackFolder(slack));
    const receiver = await receive(workspace);
    const first = await runPlay(workspace, askPlay({ allow_edit: true, thread_ts: '1.1' }));
    const [card] = slack.posted as [Any];
    expect([card.body.thread_ts, card.body.blocks[1].element.initial_value]).toEqual(['1.1', 'Send it?']);
    await press(slack, receiver, { card, option: 'reject', edited: 'Send it now!' });
    const { result } = await attempt(workspace, first.run.id);
    expect([result.final_text, result.edited, result.selected_option]).toEqual(['Send it now!', true, 'reject']);
    const again = await runPlay(
      workspace,
      askPlay({ text: 'Sure?', message_ref: result.message_ref, signal: 'again' }),
    );
    expect([slack.posted.length, slack.updates.length, card.body.text, slack.complaints]).toEqual([1, 1, 'Sure?', []]);
    await press(slack, receiver, { card, option: 'approve' });
    expect((await attempt(workspace, again.run.id)).result).toMatchObject({
      signal: 'again',
      selected_option: 'approve',
    });
  });

  verifies('SLACK-CARD-1', 'is posted once, though its process dies before the answer of Slack is kept', async () => {
    const slack = await slackStandIn();
    const dir = slackFolder(slack);
    const workspace = await openSlack(dir);
    const run = await queued(workspace, askPlay());
    await crash(workspace, run.id, (write) => write.kind === 'receipt');
    const later = await openSlack(dir, { clock: laterClock(60_000) });
    expect([(await attempt(later, run.id)).outcome.kind, slack.posted.length]).toEqual(['suspended', 1]);
    const report = await runReport(reportSource(later), await existingRun(later, run.id));
    expect(report).toMatchObject({ inDoubt: 1, waiting: { open: [{ id: 'wait_1', inDoubt: true }] } });
    expect(report.next[0]).toBe(`callsheet runs errors ${run.id}`);
  });

  verifies('SLACK-CARD-1', 'is refused before anything is sent where Slack would not take it', async () => {
    const slack = await slackStandIn();
    const workspace = await openSlack(slackFolder(slack));
    const button = { id: 'a', label: 'A' };
    const wrong = [
      { buttons: [] },
      { buttons: Array.from({ length: 6 }, (_, n) => ({ ...button, id: `b${n}` })) },
      { buttons: [button, button] },
      { buttons: [{ ...button, label: 'x'.repeat(76) }] },
      { buttons: [{ ...button, emit: { long: 'x'.repeat(1_900) } }] },
      { text: 'x'.repeat(3_001) },
      { timeout: 'soon' },
      { on_timeout_mode: 'maybe' },
      { post_interaction: {} },
    ];
    for (const more of wrong)
      expect([more, (await runPlay(workspace, askPlay(more))).result.caught]).toEqual([more, 'TOOL_INPUT_INVALID']);
    expect(slack.requests).toEqual([]);
    const longest = { buttons: [{ ...button, emit: { long: 'x'.repeat(1_800) } }] };
    expect([(await runPlay(workspace, askPlay(longest))).outcome.kind, slack.complaints]).toEqual(['suspended', []]);
  });
});

describe('the time of a card', () => {
  verifies('SLACK-TIMEOUT-1', 'ends with a card that nobody can press any more', async () => {
    const slack = await slackStandIn();
    const dir = slackFolder(slack);
    const { run } = await runPlay(await openSlack(dir), askPlay({ timeout: '1h', on_timeout_mode: 'continue' }));
    slack.fail('chat.update', 'fatal_error', { status: 429, headers: { 'retry-after': '0' } });
    const later = await openSlack(dir, { clock: laterClock(2 * 3_600_000), chance: zeroChance() });
    const { result } = await attempt(later, run.id);
    const ref = { channel: 'C0REVIEWS', ts: slack.posted[0]?.ts };
    expect(result).toEqual({
      timedOut: true,
      resumed: false,
      timed_out: true,
      event_payload: null,
      message_ref: ref,
    });
    expect([slack.updates.length, slack.complaints]).toEqual([1, []]);
    expect(slack.posted[0]?.body).toMatchObject(ref);
    expect(slack.posted[0]?.body.blocks.map(({ type }: Any) => type)).toEqual(['section', 'context']);
  });

  verifies('SLACK-TIMEOUT-1', 'is over, too, where somebody has deleted the card', async () => {
    const slack = await slackStandIn();
    const dir = slackFolder(slack);
    const { run } = await runPlay(await openSlack(dir), askPlay({ timeout: '1h' }));
    slack.fail('chat.update', 'message_not_found');
    const later = await openSlack(dir, { clock: laterClock(2 * 3_600_000) });
    expect((await attempt(later, run.id)).result.timedOut).toBe(true);
  });
});

describe('what Slack says', () => {
  verifies('SLACK-ERRORS-1', 'under status 200 ends the call as what it means', async () => {
    const cases: [string, string, number][] = [
      ['invalid_auth', 'PROVIDER_REJECTED', 1],
      ['channel_not_found', 'PROVIDER_REJECTED', 1],
      ['msg_too_long', 'PROVIDER_REJECTED', 1],
    ];
    for (const [error, code, requests] of cases) {
      const slack = await slackStandIn();
      slack.fail('chat.postMessage', error);
      const { result } = await runPlay(await openSlack(slackFolder(slack)), askPlay());
      expect([error, result.caught, slack.requests.length]).toEqual([error, code, requests]);
      expect(result.message).toContain(error);
    }
  });

  verifies(
    'SLACK-ERRORS-1',
    'is waited for where Slack only puts off, and not repeated where nobody knows',
    async () => {
      const slack = await slackStandIn();
      slack.fail('chat.postMessage', { status: 429, headers: { 'retry-after': '0' } }, 'ratelimited');
      const workspace = await openSlack(slackFolder(slack), { chance: zeroChance() });
      expect((await runPlay(workspace, askPlay())).outcome.kind).toBe('suspended');
      expect([slack.posted.length, slack.requests.length]).toEqual([1, 3]);
      slack.fail('chat.postMessage', 'internal_error');
      const { outcome, events, run } = await runPlay(workspace, askPlay());
      expect([outcome.kind, slack.requests.length]).toEqual(['suspended', 4]);
      expect(events.filter(({ type }) => type === 'event.in_doubt').length).toBe(1);
      expect((await attempt(workspace, run.id)).outcome.kind).toBe('suspended');
      expect(slack.requests.length).toBe(4);
    },
  );
});

/** A request as a stranger may make it. */
function ask(
  url: string,
  { headers, body, method = 'POST' }: { headers: Any; body: string; method?: string },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
    request.end(body);
  });
}

describe('the receiver', () => {
  verifies('SLACK-ANSWER-2', 'tells a second press that it changed nothing', async () => {
    const slack = await slackStandIn();
    const workspace = await openSlack(slackFolder(slack));
    const { run } = await runPlay(workspace, askPlay());
    const receiver = await receive(workspace);
    const [card] = slack.posted as [Any];
    const both = await Promise.all(
      (['approve', 'reject'] as const).map((option) => press(slack, receiver, { card, option })),
    );
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    const late = await press(slack, receiver, { card, option: 'reject' });
    const { result } = await attempt(workspace, run.id);
    const afterEnd = await press(slack, receiver, { card, option: 'reject' });
    await receiver.close();
    const already = expect.objectContaining({
      response_type: 'ephemeral',
      replace_original: false,
      text: expect.stringContaining('already answered'),
    });
    expect([late, afterEnd]).toEqual([
      { status: 200, body: already },
      { status: 200, body: already },
    ]);
    const accepted = slack.replies.filter((reply) => reply.replace_original === true);
    expect([slack.replies.length, accepted.length]).toEqual([4, 1]);
    expect(accepted[0].text).toContain(result.selected_option === 'approve' ? 'Approve' : 'Reject');
  });

  verifies('SLACK-ANSWER-1', 'does not acknowledge what it could not keep', async () => {
    const slack = await slackStandIn();
    const workspace = await openSlack(slackFolder(slack));
    await runPlay(workspace, askPlay());
    const order: string[] = [];
    const committer = {
      ...workspace.committer,
      commit: async (unit: Any) => {
        if (order.length === 0) {
          order.push('failed');
          throw new Error('disk full');
        }
        await workspace.committer.commit(unit);
        order.push('durable');
      },
    };
    const receiver = await receive({ ...workspace, committer });
    const [card] = slack.posted as [Any];
    const form = pressed(slack, card, { option: 'approve' });
    expect(await ask(receiver.url, { headers: signed(form), body: form })).toBe(500);
    expect(slack.replies).toEqual([]);
    expect(await ask(receiver.url, { headers: signed(form), body: form })).toBe(200);
    expect(order).toEqual(['failed', 'durable']);
  });

  verifies(
    ['SLACK-RECEIVER-1', 'SLACK-SIGNATURE-1'],
    'refuses what is not Slack, not for it, or too large',
    async () => {
      const slack = await slackStandIn();
      const workspace = await openSlack(slackFolder(slack));
      const { run } = await runPlay(workspace, askPlay());
      const receiver = await receive(workspace, { host: 'cards.example.com' });
      const [card] = slack.posted as [Any];
      const form = pressed(slack, card, { option: 'approve' });
      const good = signed(form);
      const root = receiver.url.replace('/slack/interactions', '');
      const huge = 'x'.repeat(1024 * 1024 + 1);
      const other = new URLSearchParams({ payload: '{"type":"view_closed"}' }).toString();
      const statuses = {
        tampered: await ask(receiver.url, { headers: good, body: form.replace('approve', 'reject') }),
        otherSecret: await ask(receiver.url, { headers: signed(form, Date.now(), 'wrong'), body: form }),
        old: await ask(receiver.url, { headers: signed(form, Date.now() - 301_000), body: form }),
        unsigned: await ask(receiver.url, { headers: {}, body: form }),
        noPayload: await ask(receiver.url, { headers: signed('a=1'), body: 'a=1' }),
        nothingOfOurs: await ask(receiver.url, { headers: signed(other), body: other }),
        huge: await ask(receiver.url, { headers: signed(huge), body: huge }),
        get: await ask(receiver.url, { headers: {}, body: '', method: 'GET' }),
        path: await ask(`${root}/`, { headers: good, body: form }),
        strangeHost: await ask(receiver.url, { headers: { ...good, host: 'evil.example' }, body: form }),
      };
      expect(statuses).toEqual({
        ...{ tampered: 401, otherSecret: 401, old: 401, unsigned: 401, noPayload: 400, nothingOfOurs: 200 },
        ...{ huge: 413, get: 405, path: 404, strangeHost: 403 },
      });
      expect((await attempt(workspace, run.id)).outcome.kind).toBe('suspended');
      expect(await ask(receiver.url, { headers: { ...good, host: 'cards.example.com:443' }, body: form })).toBe(200);
      expect((await attempt(workspace, run.id)).result.selected_option).toBe('approve');
      expect(new URL(receiver.url).hostname).toBe('127.0.0.1');
    },
  );

  verifies('SLACK-RECEIVER-1', 'does not start without a secret, or on a port in use', async () => {
    const dir = slackFolder(await slackStandIn());
    const without = await openTest(dir, { env: { SLACK_BOT_TOKEN: BOT_TOKEN } });
    await expect(startSlackReceiver(without, { port: 0 })).rejects.toMatchObject({ code: 'SECRET_MISSING' });
    const workspace = await openSlack(dir);
    const { port } = new URL((await receive(workspace)).url);
    await expect(startSlackReceiver(workspace, { port: Number(port) })).rejects.toMatchObject({
      code: 'PORT_TAKEN',
    });
  });
});
