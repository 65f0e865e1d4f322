import { expect } from 'vitest';
import { cliJson, jsonOf, startCli } from '../e2e/harness/cli.ts';
import { finderFiles, peopleCsv } from '../e2e/harness/finder.ts';
import { folder } from '../e2e/harness/folders.ts';
import { countsOf, questionOf } from '../e2e/harness/judge.ts';
import { paid, type WatchedSandbox, watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { verifies } from '../requirements.ts';

// The full size of the promise: CHAOS_TWICE_ROWS=10000 CHAOS_TWICE_LATENCY=500.
const ROWS = Number(process.env.CHAOS_TWICE_ROWS ?? 1000);
const LATENCY_MS = Number(process.env.CHAOS_TWICE_LATENCY ?? 60);
const EVERY = 10;
const DISTINCT = ROWS - Math.floor(ROWS / EVERY);
const RUN = ['run', 'find.play.ts', '--csv', 'people.csv', '--json'];
const TIMEOUT = 60_000 + ROWS * 60;

function expectPaidOnce(sandbox: WatchedSandbox): void {
  const counts = countsOf(paid(sandbox.ledger()).map(questionOf));
  expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
  expect(counts.size).toBe(DISTINCT);
}

verifies(
  ['CALL-COALESCE-1', 'CALL-COALESCE-2'],
  'every tenth question is asked twice at once and leaders fail, before the work and after it: each is paid once',
  async () => {
    const sandbox = await watchedSandbox({ latencyMs: LATENCY_MS });
    const { env } = sandbox;
    // One try for each call, so that a leader that fails has failed and somebody else must ask.
    const dir = folder(finderFiles(peopleCsv(ROWS, { twice: EVERY }), { tool: 'maxTries: 1,' }));
    sandbox.setFaults([
      { fault: 'status', status: 500, probability: 0.1 },
      { fault: 'reset-after', probability: 0.1 },
    ]);
    const first = await cliJson(dir, RUN.slice(0, -1), { env, exit: 6 });
    const [rows] = first.datasets;
    expect(first.calls.coalesced).toBeGreaterThan(0);
    expect(rows.failed).toBeGreaterThan(ROWS / 20);
    expect(rows.completed + rows.failed).toBe(ROWS);
    expect([...countsOf(paid(sandbox.ledger()).map(questionOf)).values()].filter((count) => count !== 1)).toEqual([]);
    sandbox.setFaults([]);
    const second = await cliJson(dir, ['runs', 'resume', 'last', '--retry-failed'], { env });
    expect(second.datasets[0]).toMatchObject({ completed: ROWS, failed: 0 });
    expectPaidOnce(sandbox);
  },
  TIMEOUT,
);

verifies(
  ['CALL-COALESCE-1', 'RUN-RESUME-1', 'KEY-OPERATION-1'],
  'the process that leads is killed while twins follow it: whoever asks next is the same request to the provider',
  async () => {
    const sandbox = await watchedSandbox({ latencyMs: LATENCY_MS });
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS, { twice: EVERY })));
    const run = startCli(dir, RUN, { env });
    await sandbox.at(Math.floor(DISTINCT / 2), () => run.kill('SIGKILL'));
    expect((await run.ended).signal).toBe('SIGKILL');
    const ended = await startCli(dir, ['runs', 'resume', 'last', '--json'], { env }).ended;
    expect(ended.exit).toBe(0);
    expect(jsonOf(ended).datasets[0]).toMatchObject({ completed: ROWS, failed: 0 });
    expectPaidOnce(sandbox);
  },
  TIMEOUT,
);
