import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerEntry } from '../../src/sandbox/index.ts';
import { type CliProcess, type Json, jsonOf, startCli } from '../e2e/harness/cli.ts';
import { questionOf, recordedQuestions } from '../e2e/harness/judge.ts';
import type { WatchedSandbox } from '../e2e/harness/watched-sandbox.ts';

export interface Kills {
  /** When each attempt was started, in milliseconds; one more than there were kills. */
  readonly starts: readonly number[];
  /** What was on disk after each kill. */
  readonly recorded: readonly ReadonlySet<string>[];
}

export interface KilledRun extends Kills {
  /** The document of the attempt that ended by itself. */
  readonly report: Json;
  readonly output: string;
}

export interface KillOrder {
  readonly dir: string;
  readonly sandbox: WatchedSandbox;
  readonly play: string;
  /** Default `leads.csv`. */
  readonly csv?: string;
  readonly concurrency: number;
  /** Of the attempt that ends by itself; 6 where rows failed. */
  readonly exit?: number;
  /** Lengths of the ledger at which the process that works is killed. */
  readonly moments: readonly number[];
  /** Between a kill and the next attempt. */
  readonly afterKill?: (kill: number) => void | Promise<void>;
}

/** `kill -9` at these moments, `runs resume` after each, until the run has ended by itself. */
export async function killedRun(order: KillOrder): Promise<KilledRun> {
  const { dir, sandbox } = order;
  const starts: number[] = [];
  const recorded: ReadonlySet<string>[] = [];
  const moments = [...order.moments].sort((a, b) => a - b);
  for (;;) {
    const isFirst = starts.length === 0;
    const what = isFirst ? ['run', order.play, '--csv', order.csv ?? 'leads.csv', '--yes'] : ['runs', 'resume', 'last'];
    starts.push(Date.now());
    const attempt = startCli(dir, [...what, '-o', 'out.csv', '--concurrency', String(order.concurrency), '--json'], {
      env: sandbox.env,
    });
    const moment = moments.shift();
    if (moment !== undefined) killAt(attempt, sandbox, moment);
    const ended = await attempt.ended;
    if (ended.signal !== 'SIGKILL') {
      const report = jsonOf(ended);
      if (ended.exit !== (order.exit ?? 0))
        throw new Error(`attempt ${starts.length} ended with ${ended.exit}: ${ended.stdout}`);
      return { starts, recorded, report, output: readFileSync(join(dir, 'out.csv'), 'utf8') };
    }
    await arrived();
    recorded.push(new Set(recordedQuestions(dir)));
    await order.afterKill?.(recorded.length);
  }
}

function killAt(attempt: CliProcess, sandbox: WatchedSandbox, moment: number): void {
  // The first one dies before anything is bought.
  if (moment === 0) void attempt.says('rows').then(() => attempt.kill('SIGKILL'));
  else void sandbox.at(moment, () => attempt.kill('SIGKILL'));
}

/** What a dead process had sent is in the sandbox's hands. */
async function arrived(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export interface Verdict {
  /** Questions that one attempt put to a provider more than once. */
  readonly askedTwiceInOneAttempt: readonly string[];
  /** Questions that were asked again although their answers were on disk. */
  readonly askedAgain: readonly string[];
  /** Questions with the provider at each kill: sent, and no answer of theirs on disk. */
  readonly inFlight: readonly ReadonlySet<string>[];
  /** Entries after the first one of their question. */
  readonly repeats: readonly LedgerEntry[];
}

/** What the ledger says about the attempts. */
export function verdictOf(ledger: readonly LedgerEntry[], run: Kills): Verdict {
  const attemptOf = (entry: LedgerEntry): number => run.starts.findLastIndex((start) => start <= entry.dispatchedAt);
  const seen = new Set<string>();
  const seenInAttempt = new Set<string>();
  const inFlight = run.recorded.map(() => new Set<string>());
  const verdict = { askedTwiceInOneAttempt: [] as string[], askedAgain: [] as string[], repeats: [] as LedgerEntry[] };
  for (const entry of ledger) {
    const question = questionOf(entry);
    const attempt = attemptOf(entry);
    const inAttempt = `${attempt} ${question}`;
    if (seenInAttempt.has(inAttempt)) verdict.askedTwiceInOneAttempt.push(inAttempt);
    if (run.recorded[attempt - 1]?.has(question) === true) verdict.askedAgain.push(inAttempt);
    if (run.recorded[attempt]?.has(question) === false) inFlight[attempt]?.add(question);
    if (seen.has(question)) verdict.repeats.push(entry);
    seen.add(question);
    seenInAttempt.add(inAttempt);
  }
  return { ...verdict, inFlight };
}

/** So many moments, spread by chance over a ledger of this length; the first one before anything is bought. */
export function momentsOf(kills: number, entries: number, random: () => number): number[] {
  return [0, ...Array.from({ length: kills - 1 }, () => 1 + Math.floor(random() * entries))];
}
