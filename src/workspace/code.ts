import { dirname, resolve } from 'node:path';
import { loadPlay, saveArtifact, validatePlayInput } from '../play/index.ts';
import { statusIn } from '../report/index.ts';
import type { RunOptions } from '../run/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { Workspace } from './open.ts';
import { reportSource } from './report-source.ts';

export interface CodeOrder {
  /** `file.play.ts` or `file.play.ts#export`, relative to `cwd`. */
  readonly play: string;
  readonly cwd: string;
}

/** Other code for a run, and the options that change with it. */
export interface OtherCode {
  readonly artifact: string;
  readonly options: Pick<RunOptions, 'exportName' | 'playDir' | 'playMaxCredits' | 'codeChanged'>;
}

/**
 * Keeps the code of now as an artifact, for a run to go on under. Throws what loading a play throws, PLAY_INPUT_INVALID
 * where the run's input does not fit it, PLAY_EXPORT_NOT_FOUND where it is another play, and RUN_HELD while somebody works
 * on the run.
 */
export async function otherCode(workspace: Workspace, run: RunRecord, order: CodeOrder): Promise<OtherCode> {
  const { paths, clock } = workspace;
  assertLeftAlone(workspace, run, 'its code cannot change under it');
  const before = JSON.parse(run.options) as RunOptions;
  const file = resolve(order.cwd, order.play);
  const load = (spec: string): ReturnType<typeof loadPlay> => loadPlay(spec, { cacheDir: paths.modules });
  const loaded = await load(file).catch((error: unknown) => {
    // Of several plays the one that the run is of is meant.
    if (error instanceof CallsheetError && error.code === 'PLAY_AMBIGUOUS') return load(`${file}#${before.exportName}`);
    throw error;
  });
  const { play, exportName } = loaded;
  if (play.name !== run.play)
    throw new CallsheetError(
      'PLAY_EXPORT_NOT_FOUND',
      `${order.play} is the play '${play.name}', and ${run.id} is a run of '${run.play}': a run goes on under changed code of its own play.`,
      {
        details: { runId: run.id, play: run.play, found: play.name },
        next: [`callsheet run ${order.play}   (a new run)`],
      },
    );
  await validatePlayInput(play, JSON.parse(run.input));
  const { hash } = await saveArtifact(paths.artifacts, loaded, clock);
  const options = {
    exportName,
    playDir: dirname(loaded.file),
    playMaxCredits: play.options.billing?.maxCreditsPerRun ?? null,
    codeChanged: before.codeChanged === true || hash !== run.artifact,
  };
  return { artifact: hash, options };
}

/** Throws RUN_HELD while somebody works on the run. */
export function assertLeftAlone(workspace: Workspace, run: RunRecord, why: string): void {
  if (statusIn(reportSource(workspace), run) !== 'running') return;
  const { id, owner } = run;
  throw new CallsheetError('RUN_HELD', `Another process (${owner ?? 'unknown'}) is working on ${id}: ${why}.`, {
    details: { runId: id, owner },
    next: [`callsheet runs watch ${id}`, `callsheet runs cancel ${id}`],
  });
}
