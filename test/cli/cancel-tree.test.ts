import { expect } from 'vitest';
import { existingRun, newRun, type RunRecord, type Workspace } from '../../src/workspace/index.ts';
import { openTest, playFile, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';
import { documentOf, typed } from './command-line.ts';

/** A run that waits for a worker, started by another. */
async function child(workspace: Workspace, play: string, parent: RunRecord): Promise<RunRecord> {
  const { run } = await newRun(workspace, { play, cwd: workspace.paths.dir, input: {}, detached: true });
  const { no: _, ...fields } = run;
  const id = `${run.id}-child`;
  const made = { ...fields, id, parentRunId: parent.id, rootRunId: parent.rootRunId };
  await workspace.committer.commit([{ kind: 'run', run: made }]);
  await workspace.engine.cancel(run.id);
  return existingRun(workspace, id);
}

interface Cancelled {
  readonly cancel: string;
  readonly tree: readonly { readonly run: string; readonly cancel: string }[];
  readonly children: readonly { readonly id: string; readonly status: string; readonly parent: string }[];
}

verifies(
  'CANCEL-TREE-1',
  'cancels what is unfinished below a run, finished itself or not, and reports each',
  async () => {
    const dir = testFolder();
    const workspace = await openTest(dir);
    const play = playFile(workspace, 'async () => 1');
    const { run: root } = await newRun(workspace, { play, cwd: dir, input: {}, detached: true });
    const { run: stranger } = await newRun(workspace, { play, cwd: dir, input: {}, detached: true });
    const [first, second] = [await child(workspace, play, root), await child(workspace, play, root)];
    const below = await child(workspace, play, first);
    await (await workspace.engine.start(second.id)).outcome;

    const one = documentOf<Cancelled>(await typed(dir, ['runs', 'cancel', root.id, '--json']));
    expect(one).toMatchObject({ cancel: 'cancelled' });
    expect(one.children.map(({ id, status }) => [id, status])).toEqual([
      [first.id, 'queued'],
      [second.id, 'completed'],
      [below.id, 'queued'],
    ]);

    const ended = await typed(dir, ['runs', 'cancel', root.id, '--tree', '--json']);
    expect(ended.exit).toBe(0);
    const all = documentOf<Cancelled>(ended);
    expect(all.tree).toEqual([
      { run: root.id, cancel: 'finished' },
      { run: first.id, cancel: 'cancelled' },
      { run: second.id, cancel: 'finished' },
      { run: below.id, cancel: 'cancelled' },
    ]);
    expect(all.children.find(({ id }) => id === below.id)).toMatchObject({ status: 'cancelled', parent: first.id });
    expect((await existingRun(workspace, stranger.id)).status).toBe('queued');
  },
);
