import { readFileSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { exportDataset, shownStatus } from '../../src/report/index.ts';
import { assertResumable, existingRun, newRun, reportSource, resumeOptions } from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { countedTool, heldTool, ROWS, until } from '../harness/tools.ts';
import {
  attempt,
  openTest,
  playFile,
  putFile,
  queued,
  runPlay,
  settled,
  testFolder,
  testWorkspace,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

describe('the states of a run', () => {
  verifies(
    ['RUN-STATES-1', 'RUN-COMPLETED-1'],
    'are in the store, and completed means that all of it is there',
    async () => {
      const { tool, sent, open } = heldTool((n) => n === 0);
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const other = await openTest(dir);
      const run = await queued(workspace, ROWS);
      const state = async () => {
        const record = await existingRun(other, run.id);
        return [
          record.status,
          shownStatus(record, other.clock.now()),
          record.attempt,
          record.owner !== null,
          record.finishedAt !== null,
        ];
      };
      expect(await state()).toEqual(['queued', 'queued', 0, false, false]);
      const progress = await workspace.engine.start(run.id);
      await until(() => sent.length === 6);
      expect(await state()).toEqual(['running', 'running', 1, true, false]);
      open();
      await progress.outcome;
      expect(await state()).toEqual(['completed', 'completed', 1, false, true]);
      const record = await existingRun(other, run.id);
      expect(JSON.parse(record.result ?? '')).toEqual([0, 1, 2, 3, 4, 5]);
      expect(await other.store.datasets.rowCounts(run.no, 1)).toMatchObject({ completed: 6, failed: 0, credits: 6 });
      expect(await other.store.report.listReceipts({ limit: 10 })).toHaveLength(6);
      const path = join(dir, 'out.csv');
      await exportDataset(reportSource(other), record, { path });
      expect(readFileSync(path, 'utf8')).toBe('n,v\n0,0\n1,1\n2,2\n3,3\n4,4\n5,5\n');

      const thrower = await runPlay(workspace, `async () => { throw new TypeError('mine'); }`);
      expect([thrower.run.status, thrower.code, JSON.parse(thrower.run.error ?? '{}').code]).toEqual([
        'failed',
        'PLAY_THREW',
        'PLAY_THREW',
      ]);
      expect(JSON.parse(thrower.run.error ?? '{}').message).toMatch(/TypeError: mine \(.*play-\d+\.play\.ts:\d+:\d+\)/);
      const notJson = await runPlay(workspace, `async () => ({ a: { b: [1, new Map()] } })`);
      expect([notJson.run.status, notJson.code]).toEqual(['failed', 'RESULT_NOT_JSON']);
      expect(JSON.parse(notJson.run.error ?? '{}').message).toContain('a.b[1]');
      const slow = await runPlay(workspace, `() => new Promise(() => {})`, {
        options: `{ runtime: { timeout: '50ms' } }`,
      });
      expect([slow.run.status, slow.code]).toEqual(['failed', 'PLAY_TIMEOUT']);
      await expect(assertResumable(reportSource(workspace), record, true)).rejects.toMatchObject({
        code: 'RUN_NOT_RESUMABLE',
      });
    },
  );

  verifies(
    'ERROR-FATAL-1',
    'a play that catches everything cannot make a run look finished, and can be resumed with more',
    async () => {
      const { tool, sent } = countedTool();
      const workspace = await testWorkspace({ tools: [tool] });
      const source = `async (ctx) => {
      const seen = [];
      for (let n = 0; n < 5; n++)
        await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } }).then(() => seen.push(n), (error) => seen.push(error.code));
      return seen;
    }`;
      const first = await runPlay(workspace, source, { maxCredits: 2 });
      expect([first.outcome.kind, first.code, first.run.status]).toEqual(['failed', 'OUT_OF_CREDITS', 'failed']);
      expect(JSON.parse(first.run.error ?? '{}').next.join()).toContain(`runs resume ${first.run.id} --max-credits`);
      expect(sent).toHaveLength(2);
      await resumeOptions(workspace, first.run, { maxCredits: 4 });
      expect((await attempt(workspace, first.run.id)).code).toBe('OUT_OF_CREDITS');
      await resumeOptions(workspace, await existingRun(workspace, first.run.id), { maxCredits: 5 });
      expect((await attempt(workspace, first.run.id)).result).toEqual([0, 1, 2, 3, 4]);
      expect(sent).toHaveLength(5);
      expect(await settled(workspace, first.run)).toBe(5);
    },
  );

  verifies(
    'BUDGET-OUT-1',
    'out of credits within rows loses nothing finished, and no row is recorded with what it caught',
    async () => {
      const { tool, sent } = countedTool();
      const workspace = await testWorkspace({ tools: [tool] });
      const source = ROWS.replace(
        /\(await ctx\.tools\.execute\((.*?)\)\)\.data/,
        'ctx.tools.execute($1).then((r) => r.data.got.n, () => -1)',
      );
      expect(source).toContain('-1');
      const first = await runPlay(workspace, source, { maxCredits: 3 });
      expect(first.code).toBe('OUT_OF_CREDITS');
      expect(sent).toHaveLength(3);
      expect(await workspace.store.datasets.rowCounts(first.run.no, 1)).toMatchObject({ failed: 0 });
      await resumeOptions(workspace, first.run, { maxCredits: 100 });
      expect((await attempt(workspace, first.run.id)).result).toEqual([0, 1, 2, 3, 4, 5]);
      expect(sent).toHaveLength(6);
    },
  );
});

describe('resuming', () => {
  verifies('RUN-RESUME-2', 'executes the code of the start, though its file was edited or deleted', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const source = (word: string): string =>
      `async (ctx) => { await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: {} }); return [words, '${word}']; }`;
    putFile(dir, 'words.ts', `export const words = 'old import';`);
    const file = playFile(now, source('old'), { file: 'p.play.ts' });
    putFile(dir, 'p.play.ts', `import { words } from './words.ts';\n${readFileSync(file, 'utf8')}`);
    const make = () => newRun(now, { play: file, cwd: dir, input: {} });
    const runs = [(await make()).run, (await make()).run, (await make()).run];
    for (const run of runs) await crash(now, run.id, (write) => write.kind === 'runState');
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    playFile(now, source('new').replace('words', "'no import'"), { file: 'p.play.ts' });
    putFile(dir, 'words.ts', `export const words = 'new import';`);
    expect((await attempt(later, runs[0]?.id ?? '')).result).toEqual(['old import', 'old']);
    rmSync(join(dir, 'p.play.ts'));
    rmSync(join(dir, 'words.ts'));
    expect((await attempt(later, runs[1]?.id ?? '')).result).toEqual(['old import', 'old']);
    expect(sent).toHaveLength(1);
    rmSync(later.paths.artifacts, { recursive: true });
    const gone = await attempt(later, runs[2]?.id ?? '');
    expect([gone.code, gone.run.status]).toEqual(['ARTIFACT_MISSING', 'failed']);
  });

  verifies(
    'RUN-LEASE-1',
    'is refused while a live process works on the run, and at once allowed when that is gone',
    async () => {
      const { tool, sent, open } = heldTool((n) => n === 0);
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const run = await queued(workspace, ROWS);
      const progress = await workspace.engine.start(run.id);
      await until(() => sent.length === 6);
      const other = await openTest(dir, { tools: [tool] });
      await expect(other.engine.start(run.id)).rejects.toMatchObject({ code: 'RUN_HELD', details: { runId: run.id } });
      expect(sent).toHaveLength(6);
      open();
      expect((await progress.outcome).kind).toBe('completed');

      // As a process of this machine that has ended left it: its number belongs to nobody, or to a later process.
      for (const owner of [`${hostname()}|4194999|1|1`, `${hostname()}|${process.pid}|1|1`]) {
        const left = await queued(workspace, ROWS);
        const at = other.clock.now();
        const lease = {
          kind: 'lease' as const,
          runId: left.id,
          attempt: 1,
          owner,
          now: at,
          until: at + 60_000,
          takeOver: false,
        };
        await other.committer.commit([lease]);
        expect((await attempt(other, left.id)).run).toMatchObject({ status: 'completed', attempt: 2 });
      }
      // Of another machine nothing is known, so its lease stands until it is over.
      const foreign = await queued(workspace, ROWS);
      const at = other.clock.now();
      const owner = 'elsewhere|1|1|1';
      await other.committer.commit([
        { kind: 'lease', runId: foreign.id, attempt: 1, owner, now: at, until: at + 60_000, takeOver: false },
      ]);
      await expect(other.engine.start(foreign.id)).rejects.toMatchObject({ code: 'RUN_HELD' });
      const later = await openTest(dir, { tools: [tool], clock: laterClock(61_000) });
      expect((await attempt(later, foreign.id)).outcome.kind).toBe('completed');
    },
  );

  verifies('RUN-LEASE-1', 'by two processes at once is one attempt', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const [one, two] = [await openTest(dir, { tools: [tool] }), await openTest(dir, { tools: [tool] })];
    const run = await queued(one, ROWS.replace('.data)', '.data.got.n)'));
    const ends = await Promise.allSettled([attempt(one, run.id), attempt(two, run.id)]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const refused = ends.find((end) => end.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'RUN_HELD' });
    expect(sent).toHaveLength(6);
    expect((await existingRun(one, run.id)).attempt).toBe(1);
  });

  verifies(
    'RUN-BOUNDARY-1',
    'of a run with a record of a kind that this release does not know is an error',
    async () => {
      const dir = testFolder();
      const workspace = await openTest(dir);
      for (const place of [
        { datasetNo: 0, ordinal: 0 },
        { datasetNo: 1, ordinal: 0 },
      ]) {
        const run = await queued(
          workspace,
          `async (ctx) => (await ctx.dataset('rows', [{ n: 1 }]).withColumn('v', (row, ctx) => ctx.step('s', () => 1)).run()).count()`,
        );
        await crash(workspace, run.id, (write) => write.kind === 'row');
        const later = await openTest(dir, { clock: laterClock() });
        const entry = {
          key: 'k' as never,
          kind: 'telepathy' as never,
          label: 'enrich',
          path: '',
          inputDigest: 'd' as never,
          state: 'resolved' as const,
          value: '1',
          at: 1,
        };
        await later.committer.commit([{ kind: 'boundary', fence: { runNo: run.no, attempt: 1 }, place, entry }]);
        const { outcome } = await attempt(later, run.id);
        expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'BOUNDARY_UNKNOWN' } });
        expect(outcome.kind === 'failed' && outcome.error.message).toContain("'telepathy' ('enrich')");
        await later.close();
      }
    },
  );
});
