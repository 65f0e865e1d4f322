import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cli, cliJson, type Json } from '../e2e/harness/cli.ts';
import { peopleCsv, toolText } from '../e2e/harness/finder.ts';
import { type Files, folder } from '../e2e/harness/folders.ts';
import { countsOf, questionOf } from '../e2e/harness/judge.ts';
import { seededRandom, shuffled } from '../e2e/harness/random.ts';
import { creditsOf, paid, type WatchedSandbox, watchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import { verifies } from '../requirements.ts';
import { verdictOf } from './killed-run.ts';
import {
  type Answer,
  answerAll,
  familyOf,
  type Lot,
  lotsOf,
  outAtKills,
  type WorkedRun,
  workedRun,
} from './worked-run.ts';

const KILLS = Number(process.env.CHAOS_KILLS ?? 4);
const SEED = Number(process.env.CHAOS_SEED ?? 1);
/** One run is killed so often at most; then another one begins, so that kills fall everywhere in a run. */
const KILLS_A_RUN = 20;
const ROWS = 16;
/** Rows at once, and the run beside. */
const POOL = 4 + 1;
const TIMEOUT = 120_000 + KILLS * 20_000;
const PLAY = readFileSync(join(import.meta.dirname, 'plays/stop-anywhere.play.ts'), 'utf8');

const POST = `input: { type: 'object' }, cost: { credits: 1, per: 'result' }`;

/** With `keyed`, the tools send our idempotency key; without it, writes that may have been sent end in doubt. */
function files(keyed: boolean): Files {
  const key = keyed ? `idempotency: { header: 'Idempotency-Key' },` : 'idempotency: undefined,';
  return {
    'callsheet.config.ts': `import { defineConfig } from 'callsheet';
const mode = 'sandbox';
export default defineConfig({ confirmAbove: 1_000_000, providers: { hunter: { mode }, prospeo: { mode }, messages: { mode } } });
`,
    'tools/hunter.ts': toolText(key),
    'tools/others.ts': `import { defineTool } from 'callsheet';
export const prospeo = defineTool<{ first_name: string; last_name: string; domain: string }>({
  id: 'prospeo.email_finder', effect: 'read', ${POST}, ${key}
  request: ({ input: { first_name, last_name, domain } }) => ({ method: 'POST', url: 'https://api.prospeo.io/email-finder',
    headers: { 'x-api-key': 'sandbox' }, body: { first_name, last_name, company: domain } }),
  response: ({ json }) => json?.error === false ? { status: 'completed', data: json.response } : { status: 'no_result' },
  extract: { email: 'data.email.email' },
});
export const send = defineTool<{ to: string; subject: string; body: string }>({
  id: 'messages.send', effect: 'write', ${POST}, ${key}
  request: ({ input }) => ({ method: 'POST', url: 'https://api.messages.example/send', headers: { 'x-api-key': 'sandbox' }, body: input }),
  response: ({ json }) => ({ status: 'completed', data: json }),
});
`,
    'stop-anywhere.play.ts': PLAY,
    'people.csv': peopleCsv(ROWS),
  };
}

const REPLIES: readonly Answer[] = Array.from({ length: ROWS }, (_, row) => row)
  .filter((row) => row % 8 === 1)
  .map((row) => ({ event: 'reply', row: String(row), data: { said: `row ${row}` } }));

interface Stopped {
  readonly dir: string;
  readonly id: string;
  readonly sandbox: WatchedSandbox;
  readonly run: WorkedRun;
  /** The documents of the run and of the one beside it. */
  readonly family: readonly Json[];
}

async function stopped(keyed: boolean, lots: readonly Lot[], random: () => number): Promise<Stopped> {
  const sandbox = await watchedSandbox({ latencyMs: 10, idempotency: keyed });
  const dir = folder(files(keyed));
  const order = ['run', 'stop-anywhere.play.ts', '--csv', 'people.csv', '--detach', '--yes'];
  const { id } = (await cliJson(dir, order, { env: sandbox.env, exit: 5 })).run;
  const replies = shuffled(REPLIES, random);
  const run = await workedRun({ dir, sandbox, lots, meanwhile: () => answerAll(dir, id, replies) });
  return { dir, id, sandbox, run, family: await familyOf(dir, id) };
}

interface Undisturbed {
  readonly output: string;
  readonly results: readonly Json[];
  readonly entries: number;
  readonly credits: number;
}

let undisturbed: Promise<Undisturbed> | undefined;

function reference(): Promise<Undisturbed> {
  undisturbed ??= (async () => {
    const whole = await stopped(true, [], seededRandom(SEED));
    const ledger = whole.sandbox.ledger();
    expect([...countsOf(ledger.map(questionOf)).values()].filter((count) => count !== 1)).toEqual([]);
    expect(settled(whole.family)).toBe(creditsOf(ledger));
    return {
      output: await exported(whole),
      results: whole.family.map(({ result }) => result),
      entries: ledger.length,
      credits: creditsOf(ledger),
    };
  })();
  return undisturbed;
}

async function exported({ dir, id }: Stopped): Promise<string> {
  return (await cli(dir, ['runs', 'export', id])).stdout;
}

function settled(family: readonly Json[]): number {
  return family.reduce((sum, { credits }) => sum + credits.settled, 0);
}

/** What holds after any kills: nothing that is on disk was asked for again, and no more was out than may be. */
function expectNothingAgain({ sandbox, run }: Stopped) {
  const verdict = verdictOf(sandbox.ledger(), run);
  expect(verdict.askedAgain).toEqual([]);
  expect(verdict.askedTwiceInOneAttempt).toEqual([]);
  for (const questions of verdict.inFlight) expect(questions.size).toBeLessThanOrEqual(POOL);
  return verdict;
}

/** As many runs as the kills need, each with moments of its own. */
async function rounds(random: () => number, round: (lots: readonly Lot[]) => Promise<string>): Promise<void> {
  for (let left = KILLS, number = 1; left > 0; left -= KILLS_A_RUN, number++) {
    const lots = lotsOf(Math.min(left, KILLS_A_RUN), random);
    const what = await round(lots);
    process.stderr.write(`chaos: run ${number}, ${lots.length} kills: ${what}\n`);
  }
}

verifies(
  ['CHAOS-ANYWHERE-1', 'RUN-RESUME-1', 'KEY-OPERATION-1', 'CHILD-ASYNC-1', 'WORKER-TAKEOVER-1'],
  'workers are killed anywhere in a play that writes, sleeps, waits and starts another: idempotency honoured, all is charged once',
  async () => {
    const whole = await reference();
    const random = seededRandom(SEED);
    await rounds(random, async (lots) => {
      const end = await stopped(true, lots, random);
      const { repeats } = expectNothingAgain(end);
      const ledger = end.sandbox.ledger();
      expect(end.family.map(({ run }) => run.status)).toEqual(['completed', 'completed']);
      expect(end.family.map(({ result }) => result)).toEqual(whole.results);
      expect(await exported(end)).toBe(whole.output);
      expect(repeats.every((entry) => entry.replayed)).toBe(true);
      expect(paid(ledger)).toHaveLength(whole.entries);
      expect(creditsOf(ledger)).toBe(whole.credits);
      expect(settled(end.family)).toBe(whole.credits);
      return `${repeats.length} asked again, charged once`;
    });
  },
  TIMEOUT,
);

verifies(
  ['CHAOS-ANYWHERE-1', 'INTENT-1', 'INTENT-RESOLVE-1', 'DOUBT-LISTED-1'],
  'the same with no idempotency at all: repeats and doubts are no more than what was out at the kills, and resolved by the books nothing is sent twice',
  async () => {
    const whole = await reference();
    const random = seededRandom(SEED + 1);
    await rounds(random, async (lots) => {
      const end = await stopped(false, lots, random);
      const { repeats, inFlight } = expectNothingAgain(end);
      expect(repeats.filter(({ provider }) => provider === 'messages')).toEqual([]);
      const doubts = await doubtsOf(end);
      const out = outAtKills(end.sandbox.ledger(), end.run, inFlight);
      expect(repeats.length + doubts.length).toBeLessThanOrEqual(out);
      await settle(end, doubts);
      const family = await familyOf(end.dir, end.id);
      expect(family.map(({ run }) => run.status)).toEqual(['completed', 'completed']);
      expect(family.map(({ result }) => result)).toEqual(whole.results);
      expect(await exported(end)).toBe(whole.output);
      const letters = countsOf(
        end.sandbox
          .ledger()
          .filter(({ provider }) => provider === 'messages')
          .map(questionOf),
      );
      expect(letters.size).toBe(ROWS + 2);
      expect([...letters.values()].filter((count) => count !== 1)).toEqual([]);
      return `${repeats.length} asked again, ${doubts.length} in doubt, ${out} out at the kills`;
    });
  },
  TIMEOUT,
);

interface Doubt {
  readonly runId: string;
  readonly call: string;
  /** Whom the letter was for. */
  readonly to: RegExp;
}

async function doubtsOf({ dir, family }: Stopped): Promise<readonly Doubt[]> {
  const doubts: Doubt[] = [];
  for (const { run } of family) {
    const { inDoubt } = await cliJson(dir, ['runs', 'errors', run.id]);
    for (const { call, row } of inDoubt) {
      const outside = run.play === 'beside' ? /^beside@/ : /^all@/;
      // The rows are numbered from 0 in the file, and from 1 where people are told of them.
      const to = row === null ? outside : new RegExp(`^row${Number(row.slice(1)) - 1}\\.`);
      doubts.push({ runId: run.id, call, to });
    }
  }
  return doubts;
}

/** Says of each doubt what the provider's books say, and lets the runs go on; what comes into doubt then is none of a kill. */
async function settle({ dir, sandbox, family }: Stopped, doubts: readonly Doubt[]): Promise<void> {
  for (const { runId, call, to } of doubts) {
    const isSent = sandbox.ledger().some(({ question }) => to.test(JSON.parse(question).to ?? ''));
    const as = isSent ? ['--as', 'done', '--data', '{"message_id":"as the books say"}'] : ['--as', 'not-done'];
    await cliJson(dir, ['runs', 'resolve', runId, call, ...as]);
  }
  for (const { run } of family) {
    if (!doubts.some(({ runId }) => runId === run.id)) continue;
    const ended = await cli(dir, ['runs', 'resume', run.id, '--retry-failed'], { env: sandbox.env });
    if (ended.exit !== 0 && ended.exit !== 5) throw new Error(`exit ${ended.exit}: ${ended.stderr}`);
  }
  await workedRun({ dir, sandbox, lots: [] });
}
