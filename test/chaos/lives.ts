import type { LocalEngine } from '../../src/engine/index.ts';
import { canonicalJson, digest, systemClock } from '../../src/scope/index.ts';
import type { Operation, Transport } from '../../src/tool/index.ts';
import { existingRun, type Outcome, type RunRecord, type Workspace } from '../../src/workspace/index.ts';
import { crashingEngine } from '../harness/crash.ts';

const HOUR = 3_600_000;

/** A request that went out, as the provider would have it in its books; or a step that was run. */
export interface Sent {
  /** Which life of the process sent it: 1, 2, 3 … */
  readonly life: number;
  readonly what: string;
  // biome-ignore lint/suspicious/noExplicitAny: each tool has its own input
  readonly input: any;
  readonly operationKey: string;
}

/** A process that was killed, and what it left. */
export interface Death {
  readonly life: number;
  /** Operations and steps whose outcome was on disk. */
  readonly recorded: ReadonlySet<string>;
  /** Of these, the operations that had failed: asked again only where somebody says that what failed is to be retried. */
  readonly failed: ReadonlySet<string>;
}

export interface Lives {
  readonly sent: readonly Sent[];
  readonly deaths: readonly Death[];
  /** How the last life of the run that was begun with ended. */
  readonly outcome: Outcome;
  /** Effects of each life. */
  readonly effects: readonly number[];
}

export interface LivesOrder {
  readonly runId: string;
  /** How many effects (a write to the store, a request to a provider) each life has before it dies; the last one lives. */
  readonly points: readonly number[];
  /** Once a life is over: what people and other processes do meanwhile. */
  readonly between?: (life: number) => Promise<void>;
  /** Lives that the run has had. */
  readonly livesBefore?: number;
}

/**
 * Works on a run and on those it starts until all are finished, in processes that die before a chosen effect: nothing of
 * theirs reaches store or provider from then on. The next one begins an hour later, so that leases and sleeps are over.
 */
export async function livesOf(workspace: Workspace, order: LivesOrder): Promise<Lives> {
  const { runId, points, between, livesBefore = 0 } = order;
  const sent: Sent[] = [];
  const deaths: Death[] = [];
  const effects: number[] = [];
  const left = [...points];
  let outcome: Outcome | undefined;
  for (let life = livesBefore + 1; life < livesBefore + 100; life++) {
    // What is finished is asked for once more where somebody has mended its trouble.
    const run =
      life === livesBefore + 1 ? await existingRun(workspace, runId) : await firstUnfinished(workspace, runId);
    if (run === undefined) {
      if (outcome === undefined) throw new Error(`${runId} was finished before anybody worked on it`);
      return { sent, deaths, outcome, effects };
    }
    const lived = await oneLife(workspace, run.id, { life, effects: left.shift() ?? Number.POSITIVE_INFINITY });
    sent.push(...lived.sent);
    effects.push(lived.effects);
    if (lived.outcome === undefined) deaths.push({ life, ...(await recordedBy(workspace, runId)) });
    else if (run.id === runId) outcome = lived.outcome;
    await between?.(life);
  }
  throw new Error(`${runId} is not finished after a hundred attempts`);
}

async function oneLife(
  workspace: Workspace,
  runId: string,
  lot: { readonly life: number; readonly effects: number },
): Promise<{ readonly sent: readonly Sent[]; readonly effects: number; readonly outcome: Outcome | undefined }> {
  const sent: Sent[] = [];
  let effects = 0;
  const dies = (): boolean => effects++ >= lot.effects;
  let mortal: ReturnType<typeof crashingEngine> | undefined;
  const { transport } = workspace.deps.calls;
  const watched: Transport = {
    close: () => transport.close(),
    send: (operation) => {
      if (mortal?.isDead() !== false) return new Promise(() => {});
      if (dies()) {
        mortal.die();
        return new Promise(() => {});
      }
      sent.push({
        life: lot.life,
        what: operationOf(operation),
        input: operation.input,
        operationKey: operation.operationKey(),
      });
      return transport.send(operation);
    },
  };
  Object.assign(globalThis, {
    callsheetChaosStep: (label: string) =>
      sent.push({ life: lot.life, what: `step ${label}`, input: null, operationKey: '' }),
  });
  const clock = { ...systemClock, now: () => systemClock.now() + lot.life * HOUR };
  const calls = { ...workspace.deps.calls, transport: watched, clock };
  mortal = crashingEngine({ ...workspace, deps: { ...workspace.deps, calls, clock } }, (write) =>
    write.kind === 'heartbeat' ? false : dies(),
  );
  const outcome = await Promise.race([attemptOf(mortal.engine, runId), mortal.dead]);
  await workspace.committer.flush();
  return { sent, effects, outcome: outcome ?? undefined };
}

async function attemptOf(engine: LocalEngine, runId: string): Promise<Outcome> {
  return (await engine.start(runId)).outcome;
}

/** The run itself first, then those that it has started. */
async function firstUnfinished(workspace: Workspace, runId: string): Promise<RunRecord | undefined> {
  const family = [await existingRun(workspace, runId), ...(await workspace.store.runs.childrenOf(runId))];
  return family.find(({ status }) => !['completed', 'failed', 'cancelled'].includes(status));
}

/** An operation by what is asked, whoever asks it. */
function operationOf({ tool, input }: Operation): string {
  return `${tool.id} ${digest(canonicalJson(input))}`;
}

/** What the store has an outcome of: answers, failures that the play was told of, and steps by their label. */
async function recordedBy(workspace: Workspace, runId: string): Promise<Omit<Death, 'life'>> {
  const { store } = workspace;
  const recorded = new Set<string>();
  const failed = new Set<string>();
  const family = [await existingRun(workspace, runId), ...(await store.runs.childrenOf(runId))];
  for (const { runNo, tool, input } of await store.report.listReceipts({ limit: 10_000 }))
    if (family.some(({ no }) => no === runNo)) recorded.add(`${tool} ${digest(input)}`);
  for (const { no } of family) {
    for (const { tool, inputDigest, error } of await store.report.failedCalls(no, 1_000))
      if (!isInDoubt(error)) failed.add(`${tool} ${inputDigest}`);
    for (const { kind, label } of await store.report.boundariesOfRun(no, 1_000))
      if (kind === 'step') recorded.add(`step ${label}`);
  }
  return { recorded: new Set([...recorded, ...failed]), failed };
}

/** That nobody knows the outcome is no outcome. */
function isInDoubt(error: string | null): boolean {
  return error !== null && (JSON.parse(error) as { code?: unknown }).code === 'IN_DOUBT';
}

/** Requests whose outcome was on disk at an earlier death: there must be none. With `retried`, failures are no outcome. */
export function askedAgain(
  { sent, deaths }: Pick<Lives, 'sent' | 'deaths'>,
  { retried = false } = {},
): readonly Sent[] {
  const isAnswered = ({ recorded, failed }: Death, what: string): boolean =>
    recorded.has(what) && !(retried && failed.has(what));
  return sent.filter((one) => deaths.some((death) => death.life < one.life && isAnswered(death, one.what)));
}

/** Requests after the first of their kind, and how many were with the provider when a process died. */
export function repeatsOf({ sent, deaths }: Pick<Lives, 'sent' | 'deaths'>): {
  readonly repeats: readonly Sent[];
  readonly inFlight: number;
} {
  const seen = new Set<string>();
  const repeats: Sent[] = [];
  for (const one of sent) {
    if (seen.has(one.what)) repeats.push(one);
    seen.add(one.what);
  }
  const inFlight = deaths.map(
    ({ life, recorded }) => sent.filter((one) => one.life === life && !recorded.has(one.what)).length,
  );
  return { repeats, inFlight: inFlight.reduce((sum, count) => sum + count, 0) };
}
