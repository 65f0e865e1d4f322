import { resolve } from 'node:path';
import { checkPlay } from '../play/index.ts';
import { CallsheetError } from '../sdk/index.ts';
import type { Workspace } from './open.ts';

/**
 * Throws DATASET_NOT_FOUND where the play's text already tells that its output cannot be written: it makes several
 * datasets and none is named, or nothing in it bears the name. What only a run can tell is left to the run.
 */
export async function assertOutputDataset(
  workspace: Workspace,
  order: { readonly play: string; readonly cwd: string; readonly dataset: string | undefined },
): Promise<void> {
  const { play, cwd, dataset } = order;
  const { plan, loaded } = await checkPlay(resolve(cwd, play), { types: false, cacheDir: workspace.paths.modules });
  if (plan === null || loaded === null) return;
  const keys = [...new Set(plan.datasets.map(({ key }) => key))];
  // Names that are computed are shown as (their text).
  const written = keys.filter((key) => !key.startsWith('('));
  const { name } = loaded.play;
  if (dataset === undefined && keys.length > 1)
    throw notWritable(`The play '${name}' makes several datasets, and the output is of one`, written);
  const isKnown = keys.length === 0 || written.length < keys.length || loaded.artifact.code.includes(dataset ?? '');
  if (dataset !== undefined && !isKnown) throw notWritable(`The play '${name}' makes no dataset '${dataset}'`, written);
}

function notWritable(problem: string, keys: readonly string[]): CallsheetError {
  return new CallsheetError('DATASET_NOT_FOUND', `${problem} (there is: ${keys.join(', ')}).`, {
    details: { datasets: keys },
    next: keys.slice(0, 3).map((key) => `--dataset ${key}`),
  });
}
