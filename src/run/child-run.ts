import { canonicalJson, type Digest, digest, type Scope, timeId } from '../scope/index.ts';
import { NonDeterministicPlayError } from '../sdk/index.ts';
import { type NewRun, type RunRecord, StoreConflict, type Write } from '../store/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { type AskedChild, type Child, childOf } from './child.ts';
import type { RunOptions } from './run-options.ts';

export interface StartedChild {
  readonly runId: string;
  readonly playName: string;
}

/**
 * `ctx.runPlayAsync`: a run of its own, started exactly once for its invocation key (parent run, scope, key, row and
 * column path). It is made in one transaction with the record that it was; whoever works on due runs takes it from there.
 * Throws NON_DETERMINISTIC, which ends the run, where the key was used for another play or input.
 */
export async function startChildRun(context: AttemptContext, scope: Scope, asked: AskedChild): Promise<StartedChild> {
  const child = await childOf(context, scope, asked);
  const key = scope.identity('child', JSON.stringify(child.key));
  const inputDigest = digest(canonicalJson([child.play.name, child.input]));
  const recorded = context.boundaries.find(scope, key);
  if (recorded !== undefined) {
    if (recorded.inputDigest !== inputDigest) throw changed(context, child);
    const started = JSON.parse(recorded.value) as StartedChild;
    context.deps.startRun(started.runId);
    return started;
  }
  context.planning?.('child', child.key, scope);
  const source = await sourceChild(context, child, key);
  const wanted = newRun(context, child, invocationKey(context.run.id, key));
  const run = { ...wanted, replayedFrom: source?.id ?? null };
  const started: StartedChild = { runId: run.id, playName: child.play.name };
  const entry = {
    key,
    kind: 'child' as const,
    label: child.key,
    path: scope.path,
    inputDigest,
    state: 'resolved' as const,
    value: JSON.stringify(started),
    at: run.createdAt,
  };
  try {
    await context.deps.committer.commit([
      { kind: 'run', run },
      ...(source === undefined ? [] : [await copyOf(context, source, run.id)]),
      { kind: 'boundary', fence: scope.fence, place: scope.place, entry },
    ]);
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
    // The same key a moment ago, in this attempt: that run is the one.
    return await existing(context, child, run);
  }
  context.deps.startRun(run.id);
  return started;
}

/**
 * The child of the same key, where it is the same child, that a run of the family has started: the nearest one that this run
 * comes from, else any other. What is started for the same purpose is of one family, whoever starts it first.
 */
async function sourceChild(context: AttemptContext, child: Child, key: Digest): Promise<RunRecord | undefined> {
  const { runs } = context.deps.store;
  const { source, relatives } = context.calls;
  // Another run may have been made since.
  relatives?.changed();
  const others = (await relatives?.others()) ?? [];
  for (const runId of [...(source?.runIds ?? []), ...others.map(({ id }) => id)]) {
    const found = await runs.runByIdempotencyKey(invocationKey(runId, key));
    if (found === undefined) continue;
    return found.play === child.play.name && found.input === JSON.stringify(child.input) ? found : undefined;
  }
  return undefined;
}

/** A rerun of the child does all its rows again, which the source's child answers. */
async function copyOf({ deps }: AttemptContext, source: RunRecord, toRunId: string): Promise<Write> {
  const frames = await deps.store.datasets.frames(source.no);
  const again = frames.map(({ datasetNo }) => ({ datasetNo, ordinals: 'all' as const }));
  return { kind: 'copyRun', fromRunNo: source.no, toRunId, again };
}

async function existing(context: AttemptContext, child: Child, wanted: NewRun): Promise<StartedChild> {
  const other = await context.deps.store.runs.runByIdempotencyKey(wanted.idempotencyKey ?? '');
  if (other === undefined || other.play !== wanted.play || other.input !== wanted.input) throw changed(context, child);
  return { runId: other.id, playName: other.play };
}

function invocationKey(parentId: string, key: Digest): string {
  return `child ${parentId} ${key}`;
}

function newRun(context: AttemptContext, child: Child, idempotencyKey: string): NewRun {
  const { run, deps, options } = context;
  const own = child.play.options.billing?.maxCreditsPerRun;
  const mine: RunOptions = {
    ...options,
    exportName: child.play.name,
    // Within the limit of the tree's root, which all of its runs draw on.
    maxCredits: null,
    playMaxCredits: own ?? null,
    retryFailed: false,
    column: null,
  };
  const at = deps.clock.now();
  return {
    id: timeId('run', deps.clock, deps.chance),
    play: child.play.name,
    artifact: run.artifact,
    input: JSON.stringify(child.input),
    options: JSON.stringify(mine),
    seed: Buffer.from(deps.chance.bytes(16)).toString('hex'),
    identityFormat: run.identityFormat,
    createdAt: at,
    rootRunId: run.rootRunId,
    parentRunId: run.id,
    replayedFrom: null,
    idempotencyKey,
    wakeAt: at,
  };
}

function changed({ ending }: AttemptContext, { key, play }: Child): NonDeterministicPlayError {
  const error = new NonDeterministicPlayError(
    `Child '${key}' was started before with another play or input than ${play.name} is now asked with.`,
    {
      details: { key, play: play.name },
      next: ['Give each child a key of its own, made of the input alone; then start a new run.'],
    },
  );
  ending.fatal(error);
  return error;
}

/** Names of the plays from a run's root down to it. */
export async function ancestryOf(
  reads: { run(id: string): Promise<RunRecord | undefined> },
  run: RunRecord,
): Promise<readonly string[]> {
  const names = [run.play];
  for (let above = run; above.parentRunId !== null && names.length < 100; ) {
    const parent = await reads.run(above.parentRunId);
    if (parent === undefined) break;
    names.unshift(parent.play);
    above = parent;
  }
  return names;
}
