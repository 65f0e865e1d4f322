import { expect } from 'vitest';
import { sendSignal } from '../../src/workspace/index.ts';
import { cli, cliJson, type Json } from '../e2e/harness/cli.ts';
import { type Files, folder } from '../e2e/harness/folders.ts';
import { countsOf } from '../e2e/harness/judge.ts';
import { seededRandom, shuffled } from '../e2e/harness/random.ts';
import { paid, watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { openTest } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';
import { answerAll, lotsOf, workedRun } from './worked-run.ts';

/** The full size of the promise: CHAOS_EVENT_ROWS=500. */
const ROWS = Number(process.env.CHAOS_EVENT_ROWS ?? 60);
const KILLS = Math.min(Number(process.env.CHAOS_KILLS ?? 3), 40);
const SEED = Number(process.env.CHAOS_SEED ?? 1);
const POOL = 8;
/** Answers that are sent by the command line; the others come from one process that stays. */
const TYPED = 2;
const TIMEOUT = 120_000 + KILLS * 20_000 + ROWS * 500;

function files(): Files {
  return {
    'callsheet.config.ts': `import { defineConfig } from 'callsheet';
export default defineConfig({ confirmAbove: 1_000_000, providers: { messages: { mode: 'sandbox' } } });
`,
    'tools/card.ts': `import { defineTool } from 'callsheet';
export const card = defineTool<{ n: number }>({
  id: 'messages.card', effect: 'write', input: { type: 'object' }, cost: { credits: 1 },
  idempotency: { header: 'Idempotency-Key' },
  event: {
    name: 'approved',
    arm: ({ input, wait }) => ({
      method: 'POST', url: 'https://api.messages.example/send', headers: { 'x-api-key': 'any' },
      body: { to: 'row' + input.n + '@example.com', subject: 'Approve?', body: 'Answer wait ' + wait.id + '.' },
    }),
    onEvent: ({ payload, input }) => ({ said: payload.said, asked: input.n }),
  },
});
`,
    'cards.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('cards', async (ctx, input: { rows: number }) => {
  const rows = await ctx.dataset('cards', Array.from({ length: input.rows }, (_, n) => ({ n })))
    .withColumn('answer', async (row, ctx) => {
      const { data } = await ctx.tools.execute<{ said: string; asked: number }>({ id: 'ask', tool: 'messages.card', input: { n: row.n } });
      return data.said + ' to ' + data.asked;
    })
    .run({ key: 'n', concurrency: ${POOL} });
  return { rows };
});
`,
  };
}

verifies(
  ['CHAOS-EVENTS-1', 'EVENT-TOOL-1', 'EVENT-DELIVERY-1', 'SUSPEND-ROW-1'],
  'every row sends one card and waits; answered in any order while workers are killed, each answer reaches its row',
  async () => {
    const sandbox = await watchedSandbox({ latencyMs: 5 });
    const random = seededRandom(SEED);
    const dir = folder(files());
    const order = ['run', 'cards.play.ts', '--input', JSON.stringify({ rows: ROWS }), '--detach', '--yes'];
    const { id } = (await cliJson(dir, order, { env: sandbox.env, exit: 5 })).run;
    const answers = shuffled(
      Array.from({ length: ROWS }, (_, n) => ({ event: 'approved', row: String(n), data: { said: `yes ${n}` } })),
      random,
    );
    const lots = lotsOf(KILLS, random);
    const isAsked = (row: string): boolean =>
      sandbox.ledger().some(({ question }) => JSON.parse(question).to === `row${row}@example.com`);
    // People answer cards that they have got, in whatever order; what is never asked is never sent.
    const meanwhile = async (): Promise<void> => {
      const workspace = await openTest(dir, { env: sandbox.env });
      let left = answers;
      while (left.length > TYPED) {
        const answer = left.find(({ row }) => isAsked(row));
        if (answer !== undefined) {
          const { event, row, data } = answer;
          await sendSignal(workspace, { runId: id, event, row, wait: null, all: false, data });
          left = left.filter((one) => one !== answer);
        }
        await new Promise((resolve) => setTimeout(resolve, random() * (4_000 / ROWS)));
      }
      while (!left.every(({ row }) => isAsked(row))) await new Promise((resolve) => setTimeout(resolve, 50));
      await answerAll(dir, id, left);
    };
    const run = await workedRun({ dir, sandbox, lots, meanwhile, idleMs: 800 });
    expect(run.recorded).toHaveLength(KILLS);
    const cards = countsOf(paid(sandbox.ledger()).map(({ question }) => JSON.parse(question).to as string));
    expect(cards.size).toBe(ROWS);
    expect([...cards.values()].filter((count) => count !== 1)).toEqual([]);
    const shown: Json = await cliJson(dir, ['runs', 'show', id]);
    expect(shown.datasets[0]).toMatchObject({ completed: ROWS, failed: 0, waiting: 0 });
    // A card that was out at a kill and is answered before the next attempt is not asked for again, nor accounted for.
    expect(shown.credits.settled).toBeLessThanOrEqual(ROWS);
    expect(shown.credits.settled).toBeGreaterThanOrEqual(ROWS - KILLS * POOL);
    const { stdout } = await cli(dir, ['runs', 'export', id]);
    const cells = Array.from({ length: ROWS }, (_, n) => `${n},yes ${n} to ${n}`);
    expect(stdout.trim().split('\n').slice(1)).toEqual(cells);
  },
  TIMEOUT,
);
