import { describe, expect } from 'vitest';
import type { LedgerEntry } from '../../src/sandbox/index.ts';
import { cliJson } from '../e2e/harness/cli.ts';
import { configText, peopleCsv } from '../e2e/harness/finder.ts';
import { type Files, folder } from '../e2e/harness/folders.ts';
import { countsOf, questionOf } from '../e2e/harness/judge.ts';
import { seededRandom } from '../e2e/harness/random.ts';
import { creditsOf, paid, watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { batchedTool } from '../harness/tools.ts';
import { openTest, queued, settled, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';
import { killedRun, verdictOf } from './killed-run.ts';
import { livesOf } from './lives.ts';

const ROWS = Number(process.env.CHAOS_BATCH_ROWS ?? 200);
const KILLS = Number(process.env.CHAOS_BATCH_KILLS ?? 3);
const SEED = Number(process.env.CHAOS_SEED ?? 1);
const TRIALS = Number(process.env.CHAOS_BATCH_TRIALS ?? 5);
const SIZE = 10;
const POOL = 16;
const TIMEOUT = 120_000 + KILLS * 20_000;

/** Whom to find: one in forty cannot be asked, and must not fail the others. */
function files(poison: boolean): Files {
  return {
    'callsheet.config.ts': configText().replace('hunter: {', `findymail: { mode: 'sandbox' }, hunter: {`),
    'tools/finder.ts': `import { defineTool } from 'callsheet';
export const finder = defineTool<{ first_name: string; last_name: string; domain: string }>({
  id: 'findymail.bulk',
  effect: 'read',
  input: { type: 'object' },
  secrets: ['FINDYMAIL_API_KEY'],
  batch: {
    maxSize: ${SIZE},
    request: (contacts, { secret }) => ({
      method: 'POST',
      url: 'https://app.findymail.com/bulk/email-finder',
      headers: { authorization: \`Bearer \${secret('FINDYMAIL_API_KEY')}\` },
      body: { contacts },
    }),
    split: ({ json }) => json.results.map((one) => (one.email === null ? { status: 'no_result' } : { status: 'completed', data: one })),
  },
  extract: { email: 'data.email' },
  cost: { credits: 1, per: 'result' },
  idempotency: { header: 'Idempotency-Key' },
});
`,
    'find.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('find', async (ctx, input: { csv: string }) => {
  const people = await ctx.csv<Record<string, string>>(input.csv);
  const rows = await ctx
    .dataset('people', people)
    .withColumn('email', async (row, ctx) => {
      const { first_name = '', last_name = '', domain = '', n } = row;
      const input = { first_name, last_name: ${poison} && Number(n) % 40 === 7 ? '' : last_name, domain };
      return (await ctx.tools.execute({ id: 'find', tool: 'findymail.bulk', input })).values.email as string | null;
    })
    .run({ key: 'n' });
  return { rows };
});
`,
    'people.csv': peopleCsv(ROWS),
  };
}

/** The ledger as if each question of a bulk request had been asked by itself. */
function membersOf(ledger: readonly LedgerEntry[]): readonly LedgerEntry[] {
  return ledger.flatMap((entry) =>
    (JSON.parse(entry.question) as unknown[]).map((question) => ({ ...entry, question: JSON.stringify(question) })),
  );
}

async function killedBatches(idempotency: boolean, poison = false) {
  const dir = folder(files(poison));
  const sandbox = await watchedSandbox({ latencyMs: 25, idempotency });
  const env = { ...sandbox.env, FINDYMAIL_API_KEY: 'key' };
  const random = seededRandom(SEED + Number(idempotency));
  const batches = ROWS / SIZE;
  const moments = Array.from({ length: KILLS }, () => 1 + Math.floor(random() * batches));
  const order = { dir, sandbox: { ...sandbox, env }, play: 'find.play.ts', csv: 'people.csv', concurrency: POOL };
  const run = await killedRun({ ...order, moments, ...(poison && { exit: 6 }) });
  const ledger = sandbox.ledger();
  const verdict = verdictOf(membersOf(ledger), run);
  expect(run.recorded).toHaveLength(KILLS);
  expect(verdict.askedAgain).toEqual([]);
  expect(verdict.askedTwiceInOneAttempt).toEqual([]);
  const inFlight = verdict.inFlight.map((questions) => questions.size);
  for (const questions of inFlight) expect(questions).toBeLessThanOrEqual(Math.max(POOL, 2 * SIZE));
  expect(verdict.repeats.length).toBeLessThanOrEqual(inFlight.reduce((sum, size) => sum + size, 0));
  const shown = await cliJson(dir, ['runs', 'show', 'last'], { env });
  return { dir, env, ledger, verdict, run, shown };
}

describe('a run of batches that is killed again and again', () => {
  verifies(
    ['CHAOS-BATCHES-1', 'BATCH-SAME-1', 'RUN-RESUME-1'],
    'sends what was out as it was: its provider knows it by its key, and charges every question once',
    async () => {
      const { dir, env, ledger, verdict, run, shown } = await killedBatches(true);
      expect(verdict.repeats.every((entry) => entry.replayed)).toBe(true);
      const counts = countsOf(membersOf(paid(ledger)).map(questionOf));
      expect([counts.size, [...counts.values()].filter((count) => count !== 1)]).toEqual([ROWS, []]);
      expect(shown.credits.settled).toBe(creditsOf(ledger));
      // Batches fill, though the pool began with fewer rows than two of them.
      expect(ledger.filter(({ members }) => members === SIZE).length).toBeGreaterThan(ROWS / SIZE / 2);
      const again = await cliJson(dir, ['run', 'find.play.ts', '--csv', 'people.csv', '-o', 'again.csv'], { env });
      expect(again.credits.settled).toBe(0);
      expect(run.report.datasets[0]).toMatchObject({ completed: ROWS, failed: 0 });
    },
    TIMEOUT,
  );

  verifies(
    ['CHAOS-BATCHES-1', 'RUN-RESUME-1'],
    'buys nothing twice beyond what was in flight where its provider ignores keys',
    async () => {
      const { ledger, verdict, shown } = await killedBatches(false);
      expect(ledger.every((entry) => !entry.replayed)).toBe(true);
      const repeated = new Set(verdict.repeats.map(({ seq }) => seq));
      expect(shown.credits.settled).toBeLessThanOrEqual(creditsOf(ledger));
      expect(shown.credits.settled).toBeGreaterThanOrEqual(creditsOf(ledger.filter(({ seq }) => !repeated.has(seq))));
    },
    TIMEOUT,
  );

  verifies(
    ['CHAOS-BATCHES-1', 'BATCH-POISON-1'],
    'fails the rows that cannot be asked, and no others, whatever is killed meanwhile',
    async () => {
      const { ledger, run, shown } = await killedBatches(true, true);
      const poisoned = Math.ceil((ROWS - 7) / 40);
      expect(run.report.datasets[0]).toMatchObject({ completed: ROWS - poisoned, failed: poisoned });
      expect(countsOf(membersOf(paid(ledger)).map(questionOf)).size).toBe(ROWS - poisoned);
      expect(shown.credits.settled).toBe(creditsOf(ledger));
    },
    TIMEOUT,
  );
});

const PLAY = `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: 12 }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) => {
      // Recorded by the next attempt, in which rows come to their batch in another order.
      if (row.n % 3 === 0) await ctx.step('look', () => row.n);
      return (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n % 10 } })).data;
    })
    .run({ key: 'n', concurrency: 5 });
  return (await rows.materialize()).map((row) => row.v ?? null);
}`;

verifies(
  'CHAOS-BATCHES-1',
  'a process that dies before any effect of a batch leaves nothing that is asked again once it is recorded',
  async () => {
    const random = seededRandom(SEED);
    const keyed = { idempotency: { header: 'Idempotency-Key' } };
    for (const parts of [keyed, {}, { effect: 'idempotent', ...keyed }, { effect: 'write', ...keyed }] as const)
      for (let trial = 0; trial < TRIALS; trial++) {
        const { tool } = batchedTool({ maxSize: 4, ...parts });
        const workspace = await openTest(testFolder(), { tools: [tool] });
        const run = await queued(workspace, PLAY);
        const points = Array.from({ length: 3 }, () => 1 + Math.floor(random() * 18));
        const { sent, deaths, outcome } = await livesOf(workspace, { runId: run.id, points });
        expect(outcome).toMatchObject({ kind: 'completed' });
        const expected = Array.from({ length: 12 }, (_, n) => ({ got: { n: n % 10 } }));
        expect((outcome as { result: unknown }).result).toEqual(expected);
        const questions = sent.flatMap(({ input, ...one }) =>
          (input as { n: number }[]).map(({ n }) => ({ ...one, n, together: JSON.stringify(input) })),
        );
        // One key, one request: its provider cannot take two for one.
        const bodies = Map.groupBy(questions, ({ operationKey }) => operationKey);
        for (const same of bodies.values()) expect(new Set(same.map(({ together }) => together)).size).toBe(1);
        const asked = 'effect' in parts && parts.effect === 'write' ? 12 : 10;
        const keys = new Set(questions.map(({ operationKey, n }) => `${operationKey} ${n}`));
        // What is keyed goes out under one key for each question, however often its process died.
        if ('idempotency' in parts) expect(keys.size).toBe(asked);
        expect(questions.length - asked).toBeLessThanOrEqual(deaths.length * 8);
        expect(await settled(workspace, run)).toBe(asked);
      }
  },
  TIMEOUT,
);
