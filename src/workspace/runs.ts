import { dirname, resolve } from 'node:path';
import { loadPlay, saveArtifact, validatePlayInput } from '../play/index.ts';
import type { RunOptions } from '../run/index.ts';
import { IDENTITY_FORMAT, timeId } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import { type RunRecord, StoreConflict, type Write } from '../store/index.ts';
import { type CodeOrder, otherCode } from './code.ts';
import type { Workspace } from './open.ts';

export interface RunOrder {
  /** `file.play.ts` or `file.play.ts#export`, relative to `cwd`. */
  readonly play: string;
  readonly cwd: string;
  readonly input: unknown;
  readonly maxCredits?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly limit?: number | undefined;
  readonly encoding?: string | undefined;
  readonly refresh?: 'all' | readonly string[] | undefined;
  readonly idempotencyKey?: string | undefined;
  /** For whoever works on due runs to take, instead of for the caller. */
  readonly detached?: boolean | undefined;
}

/**
 * Makes a run that is pinned to the play's code as it is now; nothing is executed yet. With an idempotency key that was
 * used before, the run of that time comes back; IDEMPOTENCY_CONFLICT where that was another play or input.
 */
export async function newRun(
  workspace: Workspace,
  order: RunOrder,
): Promise<{ readonly run: RunRecord; readonly existed: boolean }> {
  const { store, committer, clock, chance, paths } = workspace;
  const { idempotencyKey = null } = order;
  const loaded = await loadPlay(resolve(order.cwd, order.play), { cacheDir: paths.modules });
  const input = JSON.stringify(await validatePlayInput(loaded.play, order.input));
  const asked = { play: loaded.play.name, input };
  const earlier = idempotencyKey === null ? undefined : await store.runs.runByIdempotencyKey(idempotencyKey);
  if (earlier !== undefined) return { run: sameOrder(earlier, asked), existed: true };
  const artifact = await saveArtifact(paths.artifacts, loaded, clock);
  const id = timeId('run', clock, chance);
  const run = {
    id,
    ...asked,
    artifact: artifact.hash,
    options: JSON.stringify(runOptions(workspace, order, loaded)),
    seed: Buffer.from(chance.bytes(16)).toString('hex'),
    identityFormat: IDENTITY_FORMAT,
    createdAt: clock.now(),
    rootRunId: id,
    parentRunId: null,
    replayedFrom: null,
    idempotencyKey,
    wakeAt: order.detached === true ? clock.now() : null,
  };
  try {
    await committer.commit([{ kind: 'run', run }]);
  } catch (error) {
    // Somebody else started it with the same key in this very moment.
    const other =
      error instanceof StoreConflict && idempotencyKey !== null
        ? await store.runs.runByIdempotencyKey(idempotencyKey)
        : undefined;
    if (other === undefined) throw error;
    return { run: sameOrder(other, asked), existed: true };
  }
  return { run: await existingRun(workspace, id), existed: false };
}

/** The run that a key was used for. Throws IDEMPOTENCY_CONFLICT where something else is asked for under it now. */
function sameOrder(run: RunRecord, asked: { readonly play: string; readonly input: string }): RunRecord {
  const { idempotencyKey, play } = run;
  const other = play !== asked.play ? `play '${play}'` : run.input !== asked.input ? 'another input' : undefined;
  if (other === undefined) return run;
  throw new CallsheetError(
    'IDEMPOTENCY_CONFLICT',
    `The idempotency key '${idempotencyKey}' was used for ${other} (${run.id}); the same key starts the same run.`,
    {
      details: { idempotencyKey, runId: run.id, play },
      next: [`callsheet runs show ${run.id}`, 'Use another --idempotency-key for another run.'],
    },
  );
}

function runOptions(workspace: Workspace, order: RunOrder, loaded: Awaited<ReturnType<typeof loadPlay>>): RunOptions {
  return {
    cwd: order.cwd,
    playDir: dirname(loaded.file),
    exportName: loaded.exportName,
    maxCredits: order.maxCredits ?? null,
    playMaxCredits: loaded.play.options.billing?.maxCreditsPerRun ?? null,
    concurrency: order.concurrency ?? null,
    limit: order.limit ?? null,
    encoding: order.encoding ?? null,
    // Recorded files are the only source where they are asked for: what an earlier replay kept must not stand in.
    refresh: workspace.mode === 'fixture' ? 'all' : (order.refresh ?? []),
    mode: workspace.mode,
  };
}

/** The run of an id, or of the only id that starts with what was typed. Throws RUN_NOT_FOUND. */
export async function existingRun(workspace: Workspace, id: string): Promise<RunRecord> {
  const { store } = workspace;
  const exact = await store.runs.run(id);
  if (exact !== undefined) return exact;
  const wanted = id === 'last' ? await newestRoot(workspace) : await runsLike(workspace, id);
  const [only] = wanted;
  if (only !== undefined && wanted.length === 1) return only;
  const several =
    wanted.length > 1
      ? ` ${wanted.length} runs fit: ${wanted
          .slice(0, 5)
          .map((run) => run.id)
          .join(', ')}.`
      : '';
  throw new CallsheetError('RUN_NOT_FOUND', `There is no run '${id}' in ${workspace.paths.dir}.${several}`, {
    details: { runId: id },
    next: ['callsheet runs list'],
  });
}

const LOOKED_AT = 1_000;

async function runsLike({ store }: Workspace, id: string): Promise<readonly RunRecord[]> {
  const recent = await store.report.listRuns({ limit: LOOKED_AT });
  return recent.filter((run) => run.id.startsWith(id) || run.id.endsWith(id));
}

/** The newest run that somebody started: one that another run has started is not what people mean by the last one. */
async function newestRoot({ store }: Workspace): Promise<readonly RunRecord[]> {
  for (let beforeNo: number | undefined; ; ) {
    const page = await store.report.listRuns({ limit: LOOKED_AT, beforeNo });
    const root = page.find((run) => run.parentRunId === null);
    if (root !== undefined) return [root];
    beforeNo = page.at(-1)?.no;
    if (beforeNo === undefined) return [];
  }
}

/** Changes what a run was started with, for its next attempt: a higher limit, say, or other code. */
export async function resumeOptions(
  workspace: Workspace,
  run: RunRecord,
  change: {
    readonly maxCredits?: number | undefined;
    readonly concurrency?: number | undefined;
    readonly retryFailed?: boolean | undefined;
    readonly code?: CodeOrder | undefined;
    readonly resend?: boolean | undefined;
  },
): Promise<void> {
  const code = change.code === undefined ? undefined : await otherCode(workspace, run, change.code);
  const options = JSON.parse(run.options) as RunOptions;
  const next: RunOptions = {
    ...options,
    ...code?.options,
    retryFailed: change.retryFailed === true,
    resend: change.resend === true,
    ...(change.maxCredits !== undefined && { maxCredits: change.maxCredits }),
    ...(change.concurrency !== undefined && { concurrency: change.concurrency }),
  };
  const fence = { runNo: run.no, attempt: run.attempt };
  await workspace.committer.commit([
    { kind: 'runOptions', fence, options: JSON.stringify(next) },
    ...(change.maxCredits === undefined ? [] : await raisedRoot(workspace, run, change.maxCredits)),
    ...(code === undefined ? [] : [{ kind: 'runArtifact', fence, artifact: code.artifact } as const]),
  ]);
}

/** What a run that another one has started may spend is of its tree's limit, too, whether or not that one has ended. */
async function raisedRoot({ store }: Workspace, run: RunRecord, maxCredits: number): Promise<readonly Write[]> {
  const root = run.parentRunId === null ? undefined : await store.runs.run(run.rootRunId);
  if (root === undefined) return [];
  const options = JSON.parse(root.options) as RunOptions;
  const limit = options.maxCredits ?? options.playMaxCredits;
  if (limit == null || limit >= maxCredits) return [];
  const fence = { runNo: root.no, attempt: root.attempt };
  return [{ kind: 'runOptions', fence, options: JSON.stringify({ ...options, maxCredits }) }];
}
