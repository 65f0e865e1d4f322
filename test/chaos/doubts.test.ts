import { expect } from 'vitest';
import { cliJson, type Json } from '../e2e/harness/cli.ts';
import { finderFiles, peopleCsv } from '../e2e/harness/finder.ts';
import { folder } from '../e2e/harness/folders.ts';
import { countsOf, questionOf, recordedQuestions } from '../e2e/harness/judge.ts';
import { seededRandom } from '../e2e/harness/random.ts';
import { watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { verifies } from '../requirements.ts';
import { killedRun, momentsOf, verdictOf } from './killed-run.ts';

const KILLS = Number(process.env.CHAOS_KILLS ?? 3);
const SEED = Number(process.env.CHAOS_SEED ?? 7);
const ROWS = 120;
const POOL = 8;

verifies(
  ['INTENT-1', 'INTENT-RESOLVE-1', 'DOUBT-LISTED-1'],
  'writes without idempotency that are killed again and again are never sent twice; what is in doubt was in flight, and is settled by hand',
  async () => {
    const sandbox = await watchedSandbox({ latencyMs: 15, idempotency: false });
    const { env } = sandbox;
    const dir = folder(finderFiles(peopleCsv(ROWS), { tool: `effect: 'write', idempotency: undefined,` }));
    const moments = momentsOf(KILLS, ROWS, seededRandom(SEED));
    const run = await killedRun({
      dir,
      sandbox,
      play: 'find.play.ts',
      csv: 'people.csv',
      concurrency: POOL,
      exit: 6,
      moments,
    });
    const verdict = verdictOf(sandbox.ledger(), run);
    const atKills = verdict.inFlight.reduce((sum, questions) => sum + questions.size, 0);
    expect(verdict.repeats).toEqual([]);
    const doubts: Json = await cliJson(dir, ['runs', 'errors', 'last'], { env });
    expect(doubts.inDoubt.length).toBe(run.report.datasets[0].failed);
    // An intent is on disk before the request goes out, so a few may have died in between.
    expect(doubts.inDoubt.length).toBeLessThanOrEqual(KILLS * POOL);
    expect(doubts.inDoubt.length).toBeGreaterThanOrEqual(atKills);
    for (const [index, { call }] of doubts.inDoubt.entries()) {
      const as = index % 2 === 0 ? ['--as', 'done', '--data', '{"email":"said@example.com"}'] : ['--as', 'not-done'];
      await cliJson(dir, ['runs', 'resolve', 'last', call, ...as], { env });
    }
    const before = sandbox.ledger().length;
    const mended: Json = await cliJson(dir, ['runs', 'resume', 'last', '--retry-failed'], { env });
    expect(mended.datasets[0]).toMatchObject({ completed: ROWS, failed: 0 });
    expect(sandbox.ledger().length - before).toBe(Math.floor(doubts.inDoubt.length / 2));
    expect((await cliJson(dir, ['runs', 'errors', 'last'], { env })).inDoubt).toEqual([]);
    const recorded = countsOf(recordedQuestions(dir));
    expect(recorded.size).toBe(ROWS);
    expect([...recorded.values()].every((count) => count === 1)).toBe(true);
    const asked = countsOf(sandbox.ledger().map(questionOf));
    expect([...asked.values()].filter((count) => count > 2)).toEqual([]);
  },
  180_000,
);
