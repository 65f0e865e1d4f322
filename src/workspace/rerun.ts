import { frameName } from '../dataset/index.ts';
import type { RunOptions } from '../run/index.ts';
import { IDENTITY_FORMAT, timeId } from '../scope/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import { assertLeftAlone, type OtherCode, otherCode } from './code.ts';
import type { Workspace } from './open.ts';
import { mostCredits } from './rerun-cost.ts';
import { type ChosenRows, chooseRows, type RowChoice } from './rerun-rows.ts';
import { type StartedAgain, startedAgain } from './rerun-started.ts';
import { existingRun } from './runs.ts';

export interface RerunOrder extends RowChoice {
  readonly cwd: string;
  /** Buys answers anew: of all tools that only read, or of those named. */
  readonly refresh?: 'all' | readonly string[] | undefined;
  /** A play file to run instead of the code that the source run is pinned to. */
  readonly code?: string | undefined;
  readonly resend?: boolean | undefined;
  readonly maxCredits?: number | undefined;
  readonly concurrency?: number | undefined;
}

/** A rerun that is ready to be made, with what people may want to know before. */
export interface PreparedRerun {
  readonly source: RunRecord;
  readonly order: RerunOrder;
  /** The code to run in place of the source run's own. */
  readonly other: OtherCode | undefined;
  readonly chosen: readonly ChosenRows[];
  /** Rows to be done again, by dataset. */
  readonly rows: readonly { readonly dataset: string; readonly again: number; readonly total: number }[];
  /** About the most that it may cost, by what the source run called; with what the runs cost that are started again. */
  readonly mostCredits: number;
  readonly started: StartedAgain;
  /** Tools that are refreshed by name and may write: what they did is done a second time. */
  readonly writes: readonly string[];
}

/**
 * What a rerun would do; nothing is made yet. Throws RUN_HELD while somebody works on the source, ROW_NOT_FOUND,
 * COLUMN_MISSING, TOOL_NOT_FOUND, what other code is refused for, and RERUN_EMPTY where no row is left to be done.
 */
export async function prepareRerun(workspace: Workspace, source: RunRecord, order: RerunOrder): Promise<PreparedRerun> {
  assertLeftAlone(workspace, source, 'a rerun begins with what a run has come to');
  const { refresh = [], code, cwd } = order;
  const other = code === undefined ? undefined : await otherCode(workspace, source, { play: code, cwd });
  const named = refresh === 'all' ? [] : refresh.map((id) => workspace.catalogue.get(id));
  const writes = named.filter(({ definition: { effect } }) => effect === 'write' || typeof effect === 'function');
  const chosen = await chooseRows(workspace, source, { ...order, codeChanges: order.code !== undefined });
  const isSelected = order.failed === true || order.empty !== undefined || order.rows !== undefined;
  const left = chosen.reduce((sum, { completed, others }) => sum + completed + others, 0);
  if (isSelected && left === 0 && source.status === 'completed') throw nothingChosen(source);
  const how = { chosen, refresh, codeChanged: order.code !== undefined };
  const started = await startedAgain(workspace, source, { ...how, column: order.column });
  return {
    source,
    order,
    other,
    chosen,
    rows: chosen.map(({ frame, completed, others }) => ({
      dataset: frameName(frame),
      again: completed + others,
      total: frame.admitted,
    })),
    mostCredits: (await mostCredits(workspace, source, how)) + started.mostCredits,
    started,
    writes: writes.map(({ id }) => id),
  };
}

/** Makes the rerun, and gives it what the source has, in one transaction. */
export async function newRerun(workspace: Workspace, prepared: PreparedRerun): Promise<RunRecord> {
  const { committer, clock, chance, mode } = workspace;
  const { source, order, other, chosen } = prepared;
  const before = JSON.parse(source.options) as RunOptions;
  const options: RunOptions = {
    ...before,
    ...other?.options,
    maxCredits: order.maxCredits ?? before.maxCredits,
    concurrency: order.concurrency ?? before.concurrency,
    // As of any run on recorded files: they are its only source.
    refresh: mode === 'fixture' ? 'all' : (order.refresh ?? []),
    column: order.column ?? null,
    resend: order.resend === true,
    retryFailed: false,
    mode,
  };
  const id = timeId('run', clock, chance);
  const run = {
    id,
    play: source.play,
    artifact: other?.artifact ?? source.artifact,
    input: source.input,
    options: JSON.stringify(options),
    seed: Buffer.from(chance.bytes(16)).toString('hex'),
    identityFormat: IDENTITY_FORMAT,
    createdAt: clock.now(),
    rootRunId: id,
    parentRunId: null,
    replayedFrom: source.id,
    idempotencyKey: null,
    wakeAt: null,
  };
  const again = chosen.map(({ frame, ordinals }) => ({ datasetNo: frame.datasetNo, ordinals }));
  await committer.commit([
    { kind: 'run', run },
    { kind: 'copyRun', fromRunNo: source.no, toRunId: id, again },
  ]);
  return existingRun(workspace, id);
}

function nothingChosen({ id }: RunRecord): CallsheetError {
  return new CallsheetError(
    'RERUN_EMPTY',
    `No row of ${id} is among those that are to be done again. Nothing was started.`,
    {
      details: { runId: id },
      next: [`callsheet runs show ${id}`, `callsheet runs rerun ${id}   (all rows)`],
    },
  );
}
