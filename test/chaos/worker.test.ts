import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { cli, cliJson, jsonOf, startCli } from '../e2e/harness/cli.ts';
import { finderFiles, peopleCsv } from '../e2e/harness/finder.ts';
import { folder } from '../e2e/harness/folders.ts';
import { countsOf, questionOf, recordedQuestions, rowsOf } from '../e2e/harness/judge.ts';
import { paid, type WatchedSandbox, watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { verifies } from '../requirements.ts';
import { stopOutsideTransactions } from './stopped-process.ts';

const ROWS = 80;
const POOL = 8;
const RUN = ['run', 'find.play.ts', '--csv', 'people.csv', '--concurrency', String(POOL)];
const ONCE = ['worker', '--once'];
const TIMEOUT = 90_000;

function expectPaidOnce(sandbox: WatchedSandbox): void {
  const counts = countsOf(paid(sandbox.ledger()).map(questionOf));
  expect(counts.size).toBe(ROWS);
  expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
}

/** A run for a worker, in a folder of its own. */
async function detached(sandbox: WatchedSandbox): Promise<{ readonly dir: string; readonly id: string }> {
  const dir = folder(finderFiles(peopleCsv(ROWS)));
  const { run } = await cliJson(dir, [...RUN, '--detach'], { env: sandbox.env, exit: 5 });
  return { dir, id: run.id };
}

/** The lines of a worker's stream. */
// biome-ignore lint/suspicious/noExplicitAny: each kind of line has its own shape
function linesOf({ stdout }: { readonly stdout: string }): any[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

verifies(
  ['WORKER-TAKEOVER-1', 'DETACH-1'],
  'a worker goes on at once with the run of a killed worker, and with that of a killed attached process',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS)));
    const attached = startCli(dir, RUN, { env });
    await sandbox.at(15, () => attached.kill('SIGKILL'));
    await attached.ended;
    const first = startCli(dir, ['worker'], { env });
    await sandbox.at(40, () => first.kill('SIGKILL'));
    await first.ended;
    // Only that nobody is there any more can make its run free.
    expect(Number(rowsOf(dir, 'SELECT lease_until FROM runs')[0]?.lease_until)).toBeGreaterThan(Date.now());
    const second = await cli(dir, [...ONCE, '--json'], { env });
    expect(second.exit).toBe(0);
    expect(linesOf(second).at(-1)).toMatchObject({ type: 'end', taken: 1, completed: 1 });
    const shown = await cliJson(dir, ['runs', 'show', 'last'], { env });
    expect(shown.run).toMatchObject({ status: 'completed', attempt: 3 });
    expectPaidOnce(sandbox);
  },
  TIMEOUT,
);

verifies(
  'WORKER-STOP-1',
  'SIGTERM lets a worker end what is in flight and hand its run back; the next one goes on and buys nothing again',
  async () => {
    const sandbox = await watchedSandbox({ latencyMs: 25, idempotency: false });
    const { env } = sandbox;
    const { dir, id } = await detached(sandbox);
    const worker = startCli(dir, ['worker', '--json'], { env });
    await sandbox.at(25, () => worker.kill('SIGTERM'));
    const ended = await worker.ended;
    expect(ended).toMatchObject({ exit: 0, signal: null });
    expect(linesOf(ended).at(-1)).toMatchObject({ type: 'end', taken: 1, handedBack: 1, completed: 0 });
    expect(sandbox.ledger().length).toBeLessThan(ROWS);
    expect(countsOf(recordedQuestions(dir))).toEqual(countsOf(sandbox.ledger().map(questionOf)));
    const between = await cliJson(dir, ['runs', 'show', id], { env });
    expect(between).toMatchObject({
      run: { status: 'queued' },
      next: ['callsheet worker', `callsheet runs watch ${id}`],
    });
    await cli(dir, ONCE, { env });
    expect((await cliJson(dir, ['runs', 'show', id], { env })).run).toMatchObject({ status: 'completed', attempt: 2 });
    expectPaidOnce(sandbox);
  },
  TIMEOUT,
);

verifies(
  'WORKER-STOP-1',
  'a second signal ends what is in flight, too, and the run goes back all the same',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const { dir, id } = await detached(sandbox);
    const worker = startCli(dir, ['worker'], { env });
    await sandbox.at(20, () => sandbox.setFaults([{ fault: 'hang' }]));
    worker.kill('SIGINT');
    await worker.says('Stopping:');
    worker.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ exit: 0, signal: null });
    sandbox.setFaults([]);
    expect((await cliJson(dir, ['runs', 'show', id], { env })).run.status).toBe('queued');
    await cli(dir, ONCE, { env });
    expectPaidOnce(sandbox);
  },
  TIMEOUT,
);

verifies(
  'WORKER-FENCE-1',
  'a worker that wakes up after its lease is over writes nothing more of its run, and works on',
  async () => {
    const sandbox = await watchedSandbox({ latencyMs: 25 });
    const { env } = sandbox;
    const { dir, id } = await detached(sandbox);
    const zombie = startCli(dir, ['worker', '--json'], { env });
    await stopOutsideTransactions(dir, sandbox, zombie);
    setLease(dir, 0);
    const other = await cli(dir, [...ONCE, '--json'], { env });
    expect(linesOf(other).at(-1)).toMatchObject({ taken: 1, completed: 1 });
    const before = await stateOf(dir, id);
    zombie.kill('SIGCONT');
    const { run } = await cliJson(dir, [...RUN, '--limit', '3', '--refresh', '--detach'], { env, exit: 5 });
    const watched = await cli(dir, ['runs', 'watch', run.id], { env });
    expect(watched.exit).toBe(0);
    zombie.kill('SIGTERM');
    const ended = await zombie.ended;
    expect(ended.exit).toBe(0);
    const lines = linesOf(ended);
    expect(lines.filter(({ type }) => type === 'passed')).toMatchObject([
      { runId: id, error: { code: 'STALE_ATTEMPT' } },
    ]);
    expect(lines.at(-1)).toMatchObject({ taken: 2, completed: 1, failed: 0, passed: 1 });
    expect(await stateOf(dir, id)).toEqual(before);
  },
  TIMEOUT,
);

verifies(
  ['WORKER-SIDE-1', 'SIGNAL-DURABLE-1'],
  'two workers beside each other make one attempt each time that a run is due',
  async () => {
    const dir = folder({
      'ask.play.ts': `import { definePlay } from 'callsheet';
export default definePlay('ask', async (ctx) => ({ answer: await ctx.waitForEvent('ask', { event: 'approved' }) }));
`,
    });
    const workers = [startCli(dir, ['worker']), startCli(dir, ['worker'])];
    await Promise.all(workers.map((worker) => worker.says('Working')));
    const made = await cliJson(dir, ['run', 'ask.play.ts', '--detach'], { exit: 5 });
    const { id } = made.run;
    await Promise.any(workers.map((worker) => worker.says('waiting')));
    // Another process has it from here: what it acknowledges is on disk.
    expect((await cliJson(dir, ['signal', id, '--event', 'approved', '--data', '1'])).signal.kept).toBe(false);
    const watched = await cli(dir, ['runs', 'watch', id]);
    expect(watched.exit).toBe(0);
    for (const worker of workers) worker.kill('SIGTERM');
    for (const worker of workers) expect((await worker.ended).exit).toBe(0);
    const shown = jsonOf(await cli(dir, ['runs', 'show', id, '--json']));
    expect(shown).toMatchObject({ run: { status: 'completed', attempt: 2 }, result: { answer: 1 } });
  },
  TIMEOUT,
);

function setLease(dir: string, until: number): void {
  const db = new DatabaseSync(join(dir, '.callsheet', 'callsheet.db'));
  db.prepare('UPDATE runs SET lease_until = ?').run(until);
  db.close();
}

/** What is recorded of a run, as far as anybody can see it. */
async function stateOf(dir: string, id: string): Promise<unknown> {
  const shown = await cliJson(dir, ['runs', 'show', id]);
  const { stdout } = await cli(dir, ['runs', 'export', id, '--provenance']);
  return [rowsOf(dir, 'SELECT * FROM runs WHERE no = 1'), shown, stdout];
}
