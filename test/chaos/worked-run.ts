import type { LedgerEntry } from '../../src/sandbox/index.ts';
import { digest } from '../../src/scope/index.ts';
import { type CliProcess, cli, cliJson, type Json, startCli } from '../e2e/harness/cli.ts';
import { questionOf, recordedQuestions, rowsOf } from '../e2e/harness/judge.ts';
import type { WatchedSandbox } from '../e2e/harness/watched-sandbox.ts';
import type { Kills } from './killed-run.ts';

/** What a worker may still do before it is killed: begin so many attempts, or have so many requests answered. */
export type Lot = { readonly begun: number } | { readonly answered: number };

/** Drawn from a seed: one death in six comes while an attempt begins. */
export function lotsOf(kills: number, random: () => number): Lot[] {
  return Array.from({ length: kills }, () =>
    random() < 1 / 6 ? { begun: 1 } : { answered: 1 + Math.floor(random() * 6) },
  );
}

export interface Answer {
  readonly event: string;
  readonly row: string;
  readonly data: Json;
}

export interface WorkOrder {
  readonly dir: string;
  readonly sandbox: WatchedSandbox;
  /** One for each worker that is killed; the one after them lives. */
  readonly lots: readonly Lot[];
  /** What people do while workers come and go. */
  readonly meanwhile?: () => Promise<void>;
  /** Kills a worker that has nothing to do but wait. Default 1,500 ms. */
  readonly idleMs?: number;
}

export interface WorkedRun extends Kills {
  /** Digests of inputs of writes that were intended at each kill, without an outcome. */
  readonly intended: readonly ReadonlySet<string>[];
}

/** Workers, one at a time, each killed with -9 at its moment, until the run and all that it started are finished. */
export async function workedRun(order: WorkOrder): Promise<WorkedRun> {
  const { dir, sandbox, meanwhile } = order;
  const starts: number[] = [];
  const recorded: ReadonlySet<string>[] = [];
  const intended: ReadonlySet<string>[] = [];
  const answering = meanwhile?.();
  // Told at the end.
  answering?.catch(() => {});
  const lots = [...order.lots];
  while (!isFinished(dir)) {
    starts.push(Date.now());
    const worker = startCli(dir, ['worker'], { env: sandbox.env });
    const lot = lots.shift();
    const moment = lot === undefined ? undefined : killAt(worker, sandbox, { lot, idleMs: order.idleMs ?? 1_500 });
    const finished = await Promise.race([worker.ended.then(() => false), familyFinished(dir, moment)]);
    if (finished) worker.kill('SIGTERM');
    const { signal, exit, stderr } = await worker.ended;
    if (signal !== 'SIGKILL' && exit !== 0) throw new Error(`a worker ended with ${exit ?? signal}: ${stderr}`);
    if (signal !== 'SIGKILL') break;
    recorded.push(new Set(recordedQuestions(dir)));
    intended.push(intendedWrites(dir));
  }
  await answering;
  return { starts, recorded, intended };
}

/** Sends answers one after the other with `callsheet signal`. */
export async function answerAll(dir: string, runId: string, answers: readonly Answer[]): Promise<void> {
  for (const { event, row, data } of answers) {
    const ended = await cli(dir, ['signal', runId, '--event', event, '--row', row, '--data', JSON.stringify(data)]);
    if (ended.exit !== 0) throw new Error(`a signal was refused: ${ended.stderr}`);
  }
}

interface Moment {
  /** False once the worker was told to die. */
  readonly isAlive: () => boolean;
}

function killAt(
  worker: CliProcess,
  sandbox: WatchedSandbox,
  { lot, idleMs }: { readonly lot: Lot; readonly idleMs: number },
): Moment {
  let alive = true;
  const kill = (): void => {
    alive = false;
    worker.kill('SIGKILL');
  };
  if ('begun' in lot) worker.says('attempt').then(kill, () => {});
  else void sandbox.at(sandbox.ledger().length + lot.answered, kill);
  // Nothing may be due for long: then it dies while it waits.
  worker.says('Working on').then(
    () => void setTimeout(kill, idleMs).unref(),
    () => {},
  );
  return { isAlive: () => alive };
}

/** Resolves to true once the run and all it started are finished; never where the worker is killed before. */
async function familyFinished(dir: string, moment: Moment | undefined): Promise<boolean> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (moment?.isAlive() === false) return new Promise(() => {});
    if (isFinished(dir)) return true;
  }
}

/** True where no run of the workspace is queued, running or waiting. */
function isFinished(dir: string): boolean {
  return rowsOf(dir, 'SELECT 1 FROM runs WHERE status < 3 LIMIT 1').length === 0;
}

/** Writes that an attempt was about to make, or had made, and whose outcome nobody has written down. */
function intendedWrites(dir: string): ReadonlySet<string> {
  const intents = rowsOf(
    dir,
    `SELECT input_digest AS digest FROM operations AS o WHERE state = 0
     AND NOT EXISTS (SELECT 1 FROM calls AS c WHERE c.place = o.place AND c.call_id = o.call_id)`,
  );
  return new Set(intents.map((intent) => String(intent.digest)));
}

/** How many operations were out at the kills: with the provider, or intended and perhaps on their way. */
export function outAtKills(
  ledger: readonly LedgerEntry[],
  run: WorkedRun,
  inFlight: readonly ReadonlySet<string>[],
): number {
  const digests = new Map(ledger.map((entry) => [questionOf(entry), digest(entry.question)]));
  const out = inFlight.map((questions, kill) => {
    const known = new Set([...questions].map((question) => digests.get(question) ?? question));
    return new Set([...known, ...(run.intended[kill] ?? [])]).size;
  });
  return out.reduce((sum, count) => sum + count, 0);
}

/** The documents of a run and of those that it has started, as `runs show` prints them. */
export async function familyOf(dir: string, runId: string): Promise<readonly Json[]> {
  const root = await cliJson(dir, ['runs', 'show', runId]);
  const children = root.children.map(({ id }: Json) => cliJson(dir, ['runs', 'show', id]));
  return [root, ...(await Promise.all(children))];
}
