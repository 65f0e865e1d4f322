import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { hexDigest } from '../../src/scope/index.ts';
import { existingRun } from '../../src/workspace/index.ts';
import { attempt, openTest, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';
import { clockAfter, goldenJobs, goldenTools, heldBy, STORIES } from './golden-stories.ts';

const GOLDEN = join(import.meta.dirname, '../golden');

interface Expected {
  readonly release: string;
  readonly runId: string;
  readonly madeAt: number;
  /** Requests that went out before the run was kept. */
  readonly recorded: readonly string[];
  /** Requests that a resume makes, sorted. */
  readonly sentAfter: readonly string[];
  readonly result: unknown;
}

/** Folders of kept runs, `<release>/<story>`. */
function golden(): string[] {
  return readdirSync(GOLDEN, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((release) => readdirSync(join(GOLDEN, release.name)).map((story) => `${release.name}/${story}`))
    .sort();
}

describe('golden journals', () => {
  verifies('GOLDEN-PINNED-1', 'have the bytes that they were made with, every file of them', () => {
    const pinned = readFileSync(join(GOLDEN, 'hashes.txt'), 'utf8').trimEnd().split('\n').sort();
    const files = readdirSync(GOLDEN, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !['hashes.txt', '.gitattributes'].includes(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));
    const found = files.map((file) => `${hexDigest(readFileSync(file))}  ${relative(GOLDEN, file)}`).sort();
    expect(found).toEqual(pinned);
    expect(golden().filter((folder) => folder.startsWith('0.1.0/'))).toHaveLength(STORIES.length);
  });

  for (const folder of golden())
    verifies(
      ['GOLDEN-JOURNALS-1', 'RUN-RESUME-1'],
      `${folder}: a run that an earlier release has left comes to its end, and nothing recorded is asked again`,
      async () => {
        const expected = JSON.parse(readFileSync(join(GOLDEN, folder, 'expected.json'), 'utf8')) as Expected;
        const story = STORIES.find(({ name }) => name === folder.split('/')[1]);
        if (story === undefined) throw new Error(`nobody knows how ${folder} goes on`);
        const dir = testFolder();
        cpSync(join(GOLDEN, folder, 'home'), join(dir, '.callsheet'), { recursive: true });
        const jobs = await goldenJobs(true);
        onTestFinished(() => jobs.close());
        const { tools, sent } = goldenTools(jobs);
        const workspace = await openTest(dir, { tools, clock: clockAfter(expected.madeAt) });
        const { runId } = expected;
        expect(await heldBy(workspace, runId)).toEqual(expect.arrayContaining([...story.holds]));
        await story.goOn({ workspace, runId, attempt: async (id = runId) => void (await attempt(workspace, id)) });
        const run = await existingRun(workspace, runId);
        expect([run.status, JSON.parse(run.result ?? 'null')]).toEqual(['completed', expected.result]);
        expect([...sent].sort()).toEqual(expected.sentAfter);
        const again = sent.filter((one) => expected.recorded.includes(one));
        // A call that was on its way is the same call again.
        expect(again.filter((one) => !/^acme\.(flaky|bulk) /.test(one))).toEqual([]);
      },
    );
});
