import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { cli, cliJson, type Json, jsonOf, startCli } from '../e2e/harness/cli.ts';
import { finderFiles, peopleCsv } from '../e2e/harness/finder.ts';
import { folder } from '../e2e/harness/folders.ts';
import { countsOf, questionOf, recordedQuestions, rowsOf } from '../e2e/harness/judge.ts';
import { creditsOf, paid, type WatchedSandbox, watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { verifies } from '../requirements.ts';
import { stopOutsideTransactions } from './stopped-process.ts';

const ROWS = 80;
const LATENCY_MS = 25;
const POOL = 8;
const RUN = ['run', 'find.play.ts', '--csv', 'people.csv', '--concurrency', String(POOL), '-o', 'out.csv', '--json'];
const RESUME = ['runs', 'resume', 'last', '-o', 'out.csv'];
/** The real lease of 15 seconds, waited for; without it the lease in the store is put into the past. */
const WAITS = process.env.CHAOS_SLOW === '1';
const TIMEOUT = 90_000;

function output(dir: string): string {
  return readFileSync(join(dir, 'out.csv'), 'utf8');
}

/** The output of a run that nobody disturbs. */
async function expectedOutput(): Promise<string> {
  const sandbox = await watchedSandbox();
  const dir = folder(finderFiles(peopleCsv(ROWS)));
  await cliJson(dir, RUN.slice(0, -1), { env: sandbox.env });
  return output(dir);
}

function expectPaidOnce(sandbox: WatchedSandbox): void {
  const counts = countsOf(paid(sandbox.ledger()).map(questionOf));
  expect(counts.size).toBe(ROWS);
  expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
}

verifies(
  ['RUN-LEASE-1', 'CLI-ERROR-JSON-1', 'CLI-EXIT-1'],
  'a run that lives in another process is refused as held; once that process is killed it is taken over at once',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS)));
    const owner = startCli(dir, RUN, { env });
    // From here on the provider answers nobody, so that the owner can neither end nor go on.
    await sandbox.at(20, () => sandbox.setFaults([{ fault: 'hang' }]));
    const refused = await cliJson(dir, RESUME, { env, exit: 1 });
    expect(refused.error).toMatchObject({ code: 'RUN_HELD', details: { runId: expect.stringMatching(/^run_/) } });
    expect(refused.error.next[0]).toMatch(/^callsheet runs watch run_/);
    expect(refused.error.message).toContain(String(owner.pid));
    owner.kill('SIGKILL');
    await owner.ended;
    sandbox.setFaults([]);
    // Only that nobody is there any more can make its run free.
    setLease(dir, Date.now() + 86_400_000);
    const listed = await cliJson(dir, ['runs', 'show', 'last'], { env });
    expect(listed.run.status).toBe('interrupted');
    expect(listed.next).toEqual([`callsheet runs resume ${listed.run.id}`]);
    const took = await cliJson(dir, RESUME, { env });
    expect(took.run).toMatchObject({ status: 'completed', attempt: 2 });
    expectPaidOnce(sandbox);
  },
  TIMEOUT,
);

verifies(
  ['RUN-FENCE-1', 'CALL-STALE-ATTEMPT-1', 'STORE-FENCE-1'],
  'a process that wakes up after its lease was taken writes no row and no journal, and the answer it paid for is kept',
  async () => {
    // Without keys the new owner buys what was in flight again: each side's answers can be told apart.
    const sandbox = await watchedSandbox({ latencyMs: LATENCY_MS, idempotency: false });
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS)));
    const zombie = startCli(dir, RUN, { env });
    await stopOutsideTransactions(dir, sandbox, zombie);
    const held = await cliJson(dir, RESUME, { env, exit: 1 });
    expect(held.error.code).toBe('RUN_HELD');
    await leaseOver(dir);
    const took = await cliJson(dir, RESUME, { env });
    expect(took.run).toMatchObject({ status: 'completed', attempt: 2 });
    const before = stateOf(dir);
    const answers = recordedQuestions(dir);
    const ledger = sandbox.ledger().length;
    const bytes = output(dir);

    zombie.kill('SIGCONT');
    const ended = await zombie.ended;

    expect(ended.exit).toBe(1);
    expect(jsonOf(ended).error.code).toBe('STALE_ATTEMPT');
    expect(stateOf(dir)).toEqual(before);
    // At most what was past every check when it stopped goes out late.
    expect(sandbox.ledger().length - ledger).toBeLessThanOrEqual(POOL);
    // Everything that was ever paid is on disk now, each answer as often as it was bought.
    const kept = recordedQuestions(dir);
    expect(kept.length).toBeGreaterThan(answers.length);
    expect(countsOf(kept)).toEqual(countsOf(sandbox.ledger().map(questionOf)));
    const exported = await cli(dir, ['runs', 'export', 'last'], { env });
    expect(exported.stdout).toBe(bytes);
    const shown: Json = await cliJson(dir, ['runs', 'show', 'last'], { env });
    expect(shown.credits.settled).toBe(took.credits.settled);
  },
  TIMEOUT,
);

if (WAITS)
  verifies(
    'RUN-LAPSE-1',
    'a process that is stopped for longer than its lease, and whose run nobody takes, goes on and pays nothing twice',
    async () => {
      const sandbox = await watchedSandbox({ latencyMs: LATENCY_MS });
      const { env } = sandbox;
      const dir = folder(finderFiles(peopleCsv(ROWS)));
      const run = startCli(dir, RUN, { env });
      await stopOutsideTransactions(dir, sandbox, run);
      await leaseOver(dir);
      // Longer than its own clock lets it believe, too.
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      run.kill('SIGCONT');
      const ended = await run.ended;
      expect(ended.exit).toBe(0);
      expect(jsonOf(ended).run.status).toBe('completed');
      expectPaidOnce(sandbox);
      expect(output(dir)).toBe(await expectedOutput());
    },
    TIMEOUT,
  );

/** The lease of the stopped process runs out. */
async function leaseOver(dir: string): Promise<void> {
  if (WAITS) {
    const until = Number(rowsOf(dir, 'SELECT lease_until FROM runs')[0]?.lease_until);
    await new Promise((resolve) => setTimeout(resolve, until - Date.now() + 100));
    return;
  }
  setLease(dir, 0);
}

function setLease(dir: string, until: number): void {
  const db = new DatabaseSync(join(dir, '.callsheet', 'callsheet.db'));
  db.prepare('UPDATE runs SET lease_until = ?').run(until);
  db.close();
}

/** Run, journal, boundaries, frames and rows. */
function stateOf(dir: string): unknown {
  return ['runs', 'calls', 'boundaries', 'frames', 'rows'].map((table) => rowsOf(dir, `SELECT * FROM ${table}`));
}

verifies(
  ['RUN-INTERRUPT-1', 'RUN-RESUME-1', 'CLI-EXIT-1', 'CLI-STDOUT-1'],
  'Ctrl-C lets what is in flight end, records it, exits 130 with the command that resumes; that buys nothing again',
  async () => {
    const sandbox = await watchedSandbox({ latencyMs: LATENCY_MS, idempotency: false });
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS)));
    const run = startCli(dir, RUN, { env });
    await sandbox.at(25, () => run.kill('SIGINT'));
    const ended = await run.ended;
    expect(ended).toMatchObject({ exit: 130, signal: null });
    const { error, run: shown } = jsonOf(ended);
    expect(error).toMatchObject({ code: 'RUN_INTERRUPTED', next: [`callsheet runs resume ${shown.id}`] });
    expect(ended.stderr).toContain(`callsheet runs resume ${shown.id}`);
    expect(shown.status).toBe('interrupted');
    expect(countsOf(recordedQuestions(dir))).toEqual(countsOf(sandbox.ledger().map(questionOf)));
    expect(sandbox.ledger().length).toBeLessThan(ROWS);
    const resumed = await cliJson(dir, ['runs', 'resume', shown.id, '-o', 'out.csv'], { env });
    expect(resumed.run).toMatchObject({ status: 'completed', attempt: 2 });
    expect(sandbox.ledger()).toHaveLength(ROWS);
    expectPaidOnce(sandbox);
    expect(resumed.credits.settled).toBe(creditsOf(sandbox.ledger()));
    expect(output(dir)).toBe(await expectedOutput());
  },
  TIMEOUT,
);

verifies(
  ['RUN-INTERRUPT-1', 'CLI-EXIT-1'],
  'a second signal ends what is in flight, too, and the run goes on later as if it had been killed',
  async () => {
    const sandbox = await watchedSandbox();
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS)));
    const run = startCli(dir, RUN, { env });
    await sandbox.at(20, () => sandbox.setFaults([{ fault: 'hang' }]));
    run.kill('SIGTERM');
    await run.says('Stopping');
    run.kill('SIGINT');
    const ended = await run.ended;
    expect(ended).toMatchObject({ exit: 130, signal: null });
    expect(jsonOf(ended).error.code).toBe('RUN_INTERRUPTED');
    sandbox.setFaults([]);
    const resumed = await cliJson(dir, RESUME, { env });
    expect(resumed.run.status).toBe('completed');
    expectPaidOnce(sandbox);
  },
  TIMEOUT,
);
