import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { cliJson, type Json, jsonOf, startCli } from '../e2e/harness/cli.ts';
import { finderFiles, peopleCsv } from '../e2e/harness/finder.ts';
import { type Files, folder } from '../e2e/harness/folders.ts';
import { countsOf, questionOf, recordedQuestions } from '../e2e/harness/judge.ts';
import { watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { verifies } from '../requirements.ts';

const TIMEOUT = 90_000;
const RUN = ['run', 'letters.play.ts', '--yes', '--json'];

/** A play of this source, and a tool that sends letters: a write, by itself without idempotency. */
function letterFiles(play: string, tool = ''): Files {
  return {
    'callsheet.config.ts': `import { defineConfig } from 'callsheet';
export default defineConfig({ confirmAbove: 1_000_000, providers: { messages: { mode: 'sandbox' } } });
`,
    'tools/send.ts': `import { defineTool } from 'callsheet';
export const send = defineTool<{ to: string; subject: string; body: string }>({
  id: 'messages.send', effect: 'write', input: { type: 'object' }, cost: { credits: 1 },
  request: ({ input }) => ({ method: 'POST', url: 'https://api.messages.example/send', headers: { 'x-api-key': 'any' }, body: input }),
  response: ({ json }) => ({ status: 'completed', data: json }),
  ${tool}
});
`,
    'letters.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('letters', ${play});
`,
  };
}

const KEYED = `idempotency: { header: 'Idempotency-Key' },`;

const ROWS = `async (ctx) => {
  const rows = await ctx.dataset('letters', Array.from({ length: 6 }, (_, n) => ({ n }))).withColumn('sent', async (row, ctx) => {
    const input = { to: 'row' + row.n + '@example.com', subject: 'Hello', body: 'Once.' };
    return (await ctx.tools.execute({ id: 'send', tool: 'messages.send', input })).data.message_id;
  }).run({ key: 'n', concurrency: 2 });
  return { rows };
}`;

verifies(
  ['CHAOS-TROUBLE-1', 'INTENT-SITE-1'],
  'a write whose input contains the time, killed once it was sent, ends the run and is not sent with another time',
  async () => {
    for (const tool of ['', KEYED]) {
      const sandbox = await watchedSandbox({ latencyMs: 30 });
      const { env } = sandbox;
      const play = `async (ctx) => {
        const input = { to: 'you@example.com', subject: 'Hello', body: new Date().toISOString() };
        return (await ctx.tools.execute({ id: 'send', tool: 'messages.send', input })).data.message_id;
      }`;
      const dir = folder(letterFiles(play, tool));
      const run = startCli(dir, RUN, { env });
      await sandbox.at(1, () => run.kill('SIGKILL'));
      await run.ended;
      const resumed: Json = await cliJson(dir, ['runs', 'resume', 'last'], { env, exit: 1 });
      expect(resumed.error.code).toBe('NON_DETERMINISTIC');
      expect(resumed.error.next.join()).toContain('ctx.now');
      expect(sandbox.ledger()).toHaveLength(1);
    }
  },
  TIMEOUT,
);

verifies(
  ['CHAOS-TROUBLE-1', 'INTENT-RESOLVE-1', 'RERUN-EXACT-1'],
  'a rerun --failed of a write in doubt sends nothing before somebody has said what became of it',
  async () => {
    const sandbox = await watchedSandbox({ latencyMs: 30, idempotency: false });
    const { env } = sandbox;
    const dir = folder(letterFiles(ROWS));
    const run = startCli(dir, RUN, { env });
    await sandbox.at(3, () => run.kill('SIGKILL'));
    await run.ended;
    const resumed: Json = await cliJson(dir, ['runs', 'resume', 'last'], { env, exit: 6 });
    const { failed } = resumed.datasets[0];
    expect(failed).toBeGreaterThan(0);
    const sent = sandbox.ledger().length;
    const again: Json = await cliJson(dir, ['runs', 'rerun', resumed.run.id, '--failed', '--yes'], { env, exit: 6 });
    expect(again.datasets[0]).toMatchObject({ failed, completed: 6 - failed });
    expect(sandbox.ledger()).toHaveLength(sent);
    const { inDoubt } = await cliJson(dir, ['runs', 'errors', again.run.id]);
    expect(inDoubt).toHaveLength(failed);
    const letters = new Set(sandbox.ledger().map(({ question }) => JSON.parse(question).to));
    for (const { call, row } of inDoubt) {
      const isSent = letters.has(`row${Number(row.slice(1)) - 1}@example.com`);
      const as = isSent ? ['--as', 'done', '--data', '{"message_id":"m"}'] : ['--as', 'not-done'];
      await cliJson(dir, ['runs', 'resolve', again.run.id, call, ...as]);
    }
    const mended: Json = await cliJson(dir, ['runs', 'resume', again.run.id, '--retry-failed'], { env });
    expect(mended.datasets[0]).toMatchObject({ completed: 6, failed: 0 });
    expect([...countsOf(sandbox.ledger().map(questionOf)).values()]).toEqual([1, 1, 1, 1, 1, 1]);
  },
  TIMEOUT,
);

verifies(
  ['CHAOS-TROUBLE-1', 'INTENT-1', 'KEY-OPERATION-1'],
  'a provider that resets after doing the work is charged once with keys; without them the write is in doubt, and resolved either way the run is finished',
  async () => {
    for (const tool of [KEYED, '']) {
      const sandbox = await watchedSandbox({
        faults: [{ fault: 'reset-after', endpoint: '/messages/send', nth: 2 }],
      });
      const { env } = sandbox;
      const dir = folder(letterFiles(ROWS, tool));
      const ended = await startCli(dir, RUN, { env }).ended;
      const report = jsonOf(ended);
      if (tool === KEYED) {
        expect(report.datasets[0]).toMatchObject({ completed: 6, failed: 0 });
        expect(sandbox.ledger().filter(({ replayed }) => replayed)).toHaveLength(1);
      } else {
        expect(report.datasets[0]).toMatchObject({ completed: 5, failed: 1 });
        const { inDoubt } = await cliJson(dir, ['runs', 'errors', 'last']);
        const [{ call }] = inDoubt;
        await cliJson(dir, ['runs', 'resolve', 'last', call, '--as', 'done', '--data', '{"message_id":"m"}']);
        const mended: Json = await cliJson(dir, ['runs', 'resume', 'last', '--retry-failed'], { env });
        expect(mended.datasets[0]).toMatchObject({ completed: 6, failed: 0 });
      }
      const work = sandbox.ledger().filter(({ replayed }) => !replayed);
      expect([...countsOf(work.map(questionOf)).values()]).toEqual([1, 1, 1, 1, 1, 1]);
    }
  },
  TIMEOUT,
);

const holders = new Set<ChildProcess>();
afterAll(() => {
  for (const holder of holders) holder.kill('SIGKILL');
});

/** A process that is stopped in the midst of a transaction. */
async function stoppedHolder(dir: string): Promise<ChildProcess> {
  const script = `
    const db = new (require('node:sqlite').DatabaseSync)(process.argv[1], { timeout: 5_000 });
    db.exec('BEGIN IMMEDIATE; UPDATE runs SET seed = seed');
    process.stdout.write('held');
    setInterval(() => {}, 1_000);`;
  const database = join(dir, '.callsheet', 'callsheet.db');
  const holder = spawn(process.execPath, ['-e', script, database], { stdio: ['ignore', 'pipe', 'inherit'] });
  holders.add(holder);
  await once(holder.stdout, 'data');
  holder.kill('SIGSTOP');
  return holder;
}

/** A run of so many rows whose database is taken by a stopped process in its midst. */
async function heldUp(rows: number) {
  const sandbox = await watchedSandbox({ latencyMs: 25, idempotency: false });
  const { env } = sandbox;
  const dir = folder(finderFiles(peopleCsv(rows)));
  const run = startCli(dir, ['run', 'find.play.ts', '--csv', 'people.csv', '--concurrency', '8', '--json'], { env });
  await sandbox.at(20, () => {});
  const holder = await stoppedHolder(dir);
  const release = async (): Promise<void> => {
    holder.kill('SIGKILL');
    await once(holder, 'exit');
  };
  return { sandbox, dir, run, release };
}

verifies(
  ['CHAOS-TROUBLE-1'],
  'a process that is stopped in a transaction and ended after seconds only makes a run wait',
  async () => {
    const rows = 60;
    const { sandbox, dir, run, release } = await heldUp(rows);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await release();
    const ended = await run.ended;
    expect(ended.exit).toBe(0);
    expect(jsonOf(ended).datasets[0]).toMatchObject({ completed: rows, failed: 0 });
    expect(sandbox.ledger()).toHaveLength(rows);
    expect(countsOf(recordedQuestions(dir))).toEqual(countsOf(sandbox.ledger().map(questionOf)));
  },
  TIMEOUT,
);

// Each group of writes waits ten seconds for the database, so this takes minutes.
if (process.env.CHAOS_SLOW === '1')
  verifies(
    ['CHAOS-TROUBLE-1', 'RESCUE-1', 'STORE-HELD-1', 'STORE-BREAKER-1'],
    'a process that stays stopped in a transaction ends the run; what was paid is rescued, and once it is gone nothing is bought again',
    async () => {
      const rows = 120;
      const { sandbox, dir, run, release } = await heldUp(rows);
      const { env } = sandbox;
      const ended = await run.ended;
      expect([ended.exit, ended.stdout]).toEqual([1, expect.stringContaining('"STORE_HELD"')]);
      expect(sandbox.ledger().length).toBeLessThan(rows);
      await release();
      const resumed: Json = await cliJson(dir, ['runs', 'resume', 'last'], { env });
      expect(resumed.datasets[0]).toMatchObject({ completed: rows, failed: 0 });
      expect([...countsOf(sandbox.ledger().map(questionOf)).values()].filter((count) => count !== 1)).toEqual([]);
      expect(countsOf(recordedQuestions(dir))).toEqual(countsOf(sandbox.ledger().map(questionOf)));
    },
    300_000,
  );
