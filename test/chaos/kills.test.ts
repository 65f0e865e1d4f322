import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cliJson, type Json } from '../e2e/harness/cli.ts';
import { demoFiles, folder, putFiles } from '../e2e/harness/folders.ts';
import { seededRandom } from '../e2e/harness/random.ts';
import { creditsOf, paid, watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { verifies } from '../requirements.ts';
import { type KilledRun, killedRun, momentsOf, verdictOf } from './killed-run.ts';

const KILLS = Number(process.env.CHAOS_KILLS ?? 6);
const SEED = Number(process.env.CHAOS_SEED ?? 1);
const ROWS = Number(process.env.CHAOS_ROWS ?? 400);
const POOL = 16;
const TIMEOUT = 120_000 + KILLS * 20_000;
const LATENCY_MS = 15;
const PLAY = 'find-work-email.play.ts';

interface Undisturbed {
  readonly output: string;
  readonly entries: number;
  readonly credits: number;
}

let undisturbed: Promise<Undisturbed> | undefined;

/** The same play over the same rows, never stopped. */
function reference(): Promise<Undisturbed> {
  undisturbed ??= (async () => {
    const sandbox = await watchedSandboxOf(true);
    const run = await killedRun({ dir: folder(demoFiles(ROWS)), sandbox, play: PLAY, concurrency: POOL, moments: [] });
    expect(run.report.credits.settled).toBe(creditsOf(sandbox.ledger()));
    return { output: run.output, entries: sandbox.ledger().length, credits: run.report.credits.settled };
  })();
  return undisturbed;
}

function watchedSandboxOf(idempotency: boolean): ReturnType<typeof watchedSandbox> {
  return watchedSandbox({ latencyMs: LATENCY_MS, idempotency });
}

/** What is known of a dead process's credits before anybody goes on. */
interface KnownAtKill {
  readonly settled: number;
  readonly unknown: number;
  /** By the provider. */
  readonly charged: number;
}

async function killAndResume(idempotency: boolean, random: () => number) {
  const undisturbed = await reference();
  const sandbox = await watchedSandboxOf(idempotency);
  const dir = folder(demoFiles(ROWS));
  const moments = momentsOf(KILLS, undisturbed.entries, random);
  const known: KnownAtKill[] = [];
  const afterKill = async (): Promise<void> => {
    const { credits }: Json = await cliJson(dir, ['runs', 'show', 'last'], { env: sandbox.env });
    known.push({ ...credits, charged: creditsOf(sandbox.ledger()) });
  };
  const run = await killedRun({ dir, sandbox, play: PLAY, concurrency: POOL, moments, afterKill });
  const ledger = sandbox.ledger();
  const verdict = verdictOf(ledger, run);
  expect(run.recorded).toHaveLength(KILLS);
  expect(run.report.run).toMatchObject({ status: 'completed', attempt: KILLS + 1 });
  expect(run.output).toBe(undisturbed.output);
  expect(verdict.askedAgain).toEqual([]);
  expect(verdict.askedTwiceInOneAttempt).toEqual([]);
  for (const questions of verdict.inFlight) expect(questions.size).toBeLessThanOrEqual(POOL);
  const atKills = verdict.inFlight.reduce((sum, questions) => sum + questions.size, 0);
  expect(verdict.repeats.length).toBeLessThanOrEqual(atKills);
  const shown: Json = await cliJson(dir, ['runs', 'show', 'last'], { env: sandbox.env });
  expect(shown.credits).toEqual(run.report.credits);
  return { undisturbed, ledger, verdict, run, shown, known };
}

/** For people who run the long form: how much happened. */
function tell(name: string, { run, verdict }: { run: KilledRun; verdict: ReturnType<typeof verdictOf> }): void {
  const inFlight = verdict.inFlight.map((questions) => questions.size);
  process.stderr.write(
    `${name}: in flight at the kills ${inFlight.join(' ')}; repeats ${verdict.repeats.length}; attempts ${run.starts.length}\n`,
  );
}

verifies(
  ['RUN-RESUME-1', 'CHAOS-KILLS-1', 'KEY-OPERATION-1', 'BUDGET-LEFT-1'],
  'a play that is killed again and again writes the bytes of an undisturbed run and is charged once for every question',
  async () => {
    const { undisturbed, ledger, verdict, run, shown, known } = await killAndResume(true, seededRandom(SEED));
    // What was charged and is not settled was in flight, and is shown as unknown until it is asked again.
    for (const { settled, unknown, charged } of known) {
      expect(charged).toBeGreaterThanOrEqual(settled);
      expect(charged).toBeLessThanOrEqual(settled + unknown);
    }
    expect(known.some(({ unknown }) => unknown > 0)).toBe(true);
    expect(shown.credits.unknown).toBe(0);
    // The provider knows its own answers by the key: what was in flight is not charged again.
    expect(verdict.repeats.every((entry) => entry.replayed)).toBe(true);
    expect(paid(ledger)).toHaveLength(undisturbed.entries);
    expect(creditsOf(ledger)).toBe(undisturbed.credits);
    expect(shown.credits.settled).toBe(creditsOf(ledger));
    tell('idempotency honoured', { run, verdict });
  },
  TIMEOUT,
);

verifies(
  ['RUN-RESUME-1', 'CHAOS-KILLS-1'],
  'where the provider ignores idempotency keys, nothing beyond what was in flight at a kill is bought twice',
  async () => {
    const { undisturbed, ledger, verdict, run, shown } = await killAndResume(false, seededRandom(SEED + 1));
    expect(ledger.every((entry) => !entry.replayed)).toBe(true);
    expect(shown.credits.settled).toBe(undisturbed.credits);
    // Exactly the repeats explain what the provider charged beyond what the run accounts for.
    expect(creditsOf(ledger)).toBe(shown.credits.settled + creditsOf(verdict.repeats));
    tell('idempotency ignored', { run, verdict });
  },
  TIMEOUT,
);

verifies(
  ['RUN-RESUME-2', 'PLAY-PINNED-1', 'FILE-STAGED-1'],
  'a resume goes on with the code and the file of its start, when both were edited and when both were deleted',
  async () => {
    const undisturbed = await reference();
    const sandbox = await watchedSandboxOf(true);
    const dir = folder(demoFiles(ROWS));
    const moments = [Math.floor(undisturbed.entries / 4), Math.floor(undisturbed.entries / 2)];
    const afterKill = (kill: number): void => {
      if (kill === 1) {
        putFiles(dir, {
          [PLAY]: `export default 'no play any more';`,
          'leads.csv': 'first_name,last_name,domain\nNobody,Here,example.com\n',
        });
        return;
      }
      rmSync(join(dir, PLAY));
      rmSync(join(dir, 'leads.csv'));
    };
    const run = await killedRun({ dir, sandbox, play: PLAY, concurrency: POOL, moments, afterKill });
    expect(run.recorded).toHaveLength(2);
    expect(run.output).toBe(undisturbed.output);
    expect(verdictOf(sandbox.ledger(), run).askedAgain).toEqual([]);
    expect(paid(sandbox.ledger())).toHaveLength(undisturbed.entries);
  },
  TIMEOUT,
);
