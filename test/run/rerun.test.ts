import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { exportDataset, whyRow } from '../../src/report/index.ts';
import { timeId } from '../../src/scope/index.ts';
import type { Write } from '../../src/store/index.ts';
import {
  existingRun,
  newRun,
  prepareRerun,
  type RunRecord,
  reportSource,
  type Workspace,
} from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { callsOf, FIND_AND_SEND, queuedRerun, rerun } from '../harness/rerun.ts';
import { countedTool, endsAs, ROWS } from '../harness/tools.ts';
import {
  attempt,
  openTest,
  putFile,
  queued,
  runPlay,
  settled,
  testFolder,
  testWorkspace,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const DAY = 86_400_000;
const isReceipt = (write: Write): boolean => write.kind === 'receipt';

async function exported(workspace: Workspace, run: RunRecord): Promise<string> {
  const path = join(workspace.paths.dir, `${timeId('out', workspace.clock, workspace.chance)}.csv`);
  await exportDataset(reportSource(workspace), await existingRun(workspace, run.id), { path });
  return readFileSync(path, 'utf8');
}

describe('the answers of the source run', () => {
  verifies(
    ['RERUN-EXACT-1', 'RERUN-SELECT-1'],
    'are the very receipts, too old for any other run, and though newer ones are there',
    async () => {
      let version = 1;
      const { tool, sent } = countedTool({ reuse: { staleAfterSeconds: 60 } }, ({ n }) => n * 10 + version);
      const dir = testFolder();
      const first = await runPlay(await openTest(dir, { tools: [tool] }), ROWS);
      const later = await openTest(dir, { tools: [tool], clock: laterClock(400 * DAY) });
      version = 2;
      const newer = await runPlay(later, ROWS);
      expect([first.result[5], newer.result[5], sent.length]).toEqual([51, 52, 12]);
      const again = await rerun(later, first.run);
      expect([again.result, sent.length]).toEqual([first.result, 12]);
      expect(again.run).toMatchObject({
        replayedFrom: first.run.id,
        input: first.run.input,
        artifact: first.run.artifact,
      });
      expect(again.run.seed).not.toBe(first.run.seed);
      expect(await callsOf(later, again.run)).toMatchObject({ sourceRun: 6, live: 0, receipt: 0 });
      expect(await settled(later, again.run)).toBe(0);
    },
  );

  verifies(
    'RERUN-EXACT-1',
    'serve calls outside rows, of tools that share nothing, and the rows of a dead attempt',
    async () => {
      const { tool, sent } = countedTool({ reuse: 'never' });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = `async (ctx) => {
      const one = (await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: { n: 9 } })).data;
      const rows = await ctx.dataset('rows', [{ n: 1 }]).withColumn('v', async (row, ctx) =>
        (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data.got.n).run();
      return [one.got.n, ...(await rows.materialize()).map((row) => row.v)];
    }`;
      const run = await queued(now, source);
      let receipts = 0;
      // The second answer is paid and kept, and its process dies before it is journalled.
      await crash(
        now,
        run.id,
        (write) => (isReceipt(write) && ++receipts === 3) || (write.kind === 'call' && write.place.datasetNo === 1),
      );
      expect(sent).toHaveLength(2);
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const again = await rerun(later, await existingRun(later, run.id));
      expect([again.result, sent.length]).toEqual([[9, 1], 2]);
    },
  );

  verifies('RERUN-EXACT-2', 'of another version or account serve nothing, which is told once a tool', async () => {
    const dir = testFolder();
    const { tool, sent } = countedTool();
    const { run } = await runPlay(await openTest(dir, { tools: [tool] }), ROWS);
    const newer = countedTool({ version: '2' });
    const told = async (workspace: Workspace) => {
      const { events, result } = await rerun(workspace, run);
      expect(result).toHaveLength(6);
      return events.filter(({ type }) => type === 'source.refused').map(({ message }) => message);
    };
    expect(await told(await openTest(dir, { tools: [newer.tool] }))).toEqual([
      expect.stringMatching(/acme\.find.*version '1'.*'2'/),
    ]);
    expect(newer.sent).toHaveLength(6);
    const reading = countedTool({ version: '3', reads: ['1'] });
    expect(await told(await openTest(dir, { tools: [reading.tool] }))).toEqual([]);
    expect(reading.sent).toHaveLength(0);
    putFile(dir, 'callsheet.config.js', `export default { providers: { acme: { account: 'other' } } };`);
    expect(await told(await openTest(dir, { tools: [tool] }))).toEqual([expect.stringMatching(/acme\.find.*account/)]);
    expect(sent).toHaveLength(12);
  });

  verifies('RERUN-CHAIN-1', 'are found from run to run, also by a rerun that was cut short', async () => {
    const { tool, sent } = countedTool({ reuse: 'never' });
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const first = await runPlay(workspace, ROWS);
    const second = await rerun(workspace, first.run, { rows: ['#2'] });
    expect(await callsOf(workspace, second.run)).toMatchObject({ sourceRun: 1 });
    const third = await queuedRerun(workspace, second.run);
    let rows = 0;
    await crash(workspace, third.id, (write) => write.kind === 'row' && ++rows === 3);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const ended = await attempt(later, third.id);
    expect([ended.result, sent.length]).toEqual([first.result, 6]);
  });
});

describe('the rows of a rerun', () => {
  verifies(
    ['RERUN-FAILED-1', 'RERUN-SELECT-1'],
    'are with --failed those that failed; the others stay as they are, and what a failed row had paid serves it',
    async () => {
      let refuses = true;
      const find = countedTool({ reuse: 'never' }, ({ n }) => n);
      const send = countedTool({ id: 'acme.send', reuse: 'never' }, ({ to }) => {
        if (refuses && to % 2 === 1) throw endsAs('rejected');
        return `sent ${to}`;
      });
      const workspace = await testWorkspace({ tools: [find.tool, send.tool] });
      const first = await runPlay(workspace, FIND_AND_SEND);
      expect(first.result).toEqual(['sent 0', null, 'sent 2', null, 'sent 4']);
      refuses = false;
      const again = await rerun(workspace, first.run, { failed: true });
      expect(again.result).toEqual(['sent 0', 'sent 1', 'sent 2', 'sent 3', 'sent 4']);
      expect([find.sent.length, send.sent.length]).toEqual([5, 7]);
      expect(await callsOf(workspace, again.run)).toMatchObject({ sourceRun: 2, live: 2 });
      expect(await exported(workspace, again.run)).toBe(
        'n,found,sent\n0,0,sent 0\n1,1,sent 1\n2,2,sent 2\n3,3,sent 3\n4,4,sent 4\n',
      );
      expect((await exported(workspace, first.run)).split('\n')[2]).toBe('1,1,');
      const why = async (row: string) =>
        (await whyRow(reportSource(workspace), again.run, { row })).columns.map(({ credits, attempts }) => [
          credits,
          attempts.map(({ source, outcome }) => `${source} ${outcome}`),
        ]);
      expect(await why('0')).toEqual([
        [0, ['source_run completed']],
        [0, ['source_run completed']],
      ]);
      expect(await why('1')).toEqual([
        [0, ['source_run completed']],
        [1, ['live completed']],
      ]);
      await expect(rerun(workspace, again.run, { failed: true })).rejects.toMatchObject({ code: 'RERUN_EMPTY' });
    },
  );

  verifies('RERUN-FAILED-1', 'are also those that the source had not finished', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(now, ROWS.replace('concurrency: 2', 'concurrency: 1'));
    let rows = 0;
    await crash(now, run.id, (write) => write.kind === 'row' && ++rows === 3);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const source = await existingRun(later, run.id);
    const { rows: counted } = await prepareRerun(later, source, { failed: true, cwd: dir });
    expect(counted).toEqual([{ dataset: 'rows', again: 4, total: 6 }]);
    expect((await rerun(later, source, { failed: true })).result).toHaveLength(6);
    // The call of the fourth row was out when its process died.
    expect(sent.map(({ input }) => input.n)).toEqual([0, 1, 2, 3, 3, 4, 5]);
    const held = await queued(later, ROWS);
    const ending = await later.engine.start(held.id);
    await ending.begun;
    const held2 = await existingRun(later, held.id);
    await expect(rerun(later, held2)).rejects.toMatchObject({ code: 'RUN_HELD' });
    await ending.outcome;
  });

  verifies(
    'RERUN-SELECT-1',
    'are with --empty those without a value, with --rows those named, with both all of these; of unknown ones it says so',
    async () => {
      const { tool, sent } = countedTool({ reuse: 'never' }, ({ n }) => (n % 2 === 0 ? null : n));
      const workspace = await testWorkspace({ tools: [tool] });
      const source = `async (ctx) => {
        const items = ['Ada,x', 'Ada,x', 'Bob,y', 'Cy,z', 'Di,w'].map((text, n) => ({ first: text.split(',')[0], d: text.split(',')[1], n }));
        const rows = await ctx.dataset('people', items).withColumn('v', async (row, ctx) =>
          (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data).run({ key: ['first', 'd'] });
        await ctx.dataset('others', [{ id: 'o' }]).withColumn('w', (row) => row.id).run({ key: 'id' });
        return rows.count();
      }`;
      const { run } = await runPlay(workspace, source);
      expect(sent.map(({ input }) => input.n)).toEqual([0, 2, 3, 4]);
      const asked = async (order: object) => {
        const made = await rerun(workspace, run, { ...order, refresh: ['acme.find'] });
        return [...new Set(sent.splice(0).map(({ input }) => input.n))]
          .sort()
          .concat(made.outcome.kind === 'completed' ? [] : [-1]);
      };
      sent.splice(0);
      expect(await asked({ empty: 'v' })).toEqual([0, 2, 4]);
      expect(await asked({ rows: ['Cy,z'] })).toEqual([3]);
      expect(await asked({ rows: ['Cy,z,Bob,y'] })).toEqual([2, 3]);
      expect(await asked({ rows: ['#4,Di,w', '#1'] })).toEqual([0, 3, 4]);
      // The second row repeats the first, and is done by it.
      expect(await asked({ rows: ['#2'] })).toEqual([0]);
      expect(await asked({ rows: ['o', 'Cy,z'], empty: 'v' })).toEqual([0, 2, 3, 4]);
      expect(await asked({})).toEqual([0, 2, 3, 4]);
      for (const [order, code, told] of [
        [{ rows: ['Eve,q'] }, 'ROW_NOT_FOUND', 'Eve,q'],
        [{ rows: ['Cy,z,Eve,q'] }, 'ROW_NOT_FOUND', 'Eve,q'],
        [{ empty: 'vv' }, 'COLUMN_MISSING', 'v, w'],
        [{ column: 'vv' }, 'COLUMN_MISSING', 'v, w'],
        [{ refresh: ['acme.nix'] }, 'TOOL_NOT_FOUND', 'acme.nix'],
      ] as const)
        await expect(rerun(workspace, run, order)).rejects.toMatchObject({
          code,
          message: expect.stringContaining(told),
        });
    },
  );

  verifies(
    'RERUN-COLUMN-1',
    'begin with --column at that column, with the cells of the source run before it',
    async () => {
      const find = countedTool({ reuse: 'never' }, ({ n }) => ({ n, at: find.sent.length }));
      let refuses = true;
      const send = countedTool({ id: 'acme.send' }, ({ to }) => {
        if (refuses && to.n === 3) throw endsAs('rejected');
        return `sent ${to.n} ${to.at}`;
      });
      const dir = testFolder();
      const tools = [find.tool, send.tool];
      const now = await openTest(dir, { tools });
      const text = FIND_AND_SEND.replace(
        ".withColumn('sent'",
        ".withColumn('plain', (row) => { globalThis.plains = (globalThis.plains ?? 0) + 1; return [row.n]; }).withColumn('sent'",
      ).replace(/\.run\(/, ".withColumn('last', (row) => [row.plain, row.sent]).run(");
      const first = await runPlay(now, text);
      const seen = globalThis as { plains?: number };
      expect([seen.plains, first.result[3]]).toEqual([5, null]);
      refuses = false;
      const made = await queuedRerun(now, first.run, { column: 'sent', refresh: 'all' });
      let rows = 0;
      await crash(now, made.id, (write) => write.kind === 'row' && ++rows === 3);
      const later = await openTest(dir, { tools, clock: laterClock() });
      const again = await attempt(later, made.id);
      expect(again.result).toEqual(['sent 0 1', 'sent 1 2', 'sent 2 3', 'sent 3 4', 'sent 4 5']);
      expect([seen.plains, find.sent.length, send.sent.slice(5).map(({ input }) => input.to.n)]).toEqual([
        5,
        5,
        [0, 1, 2, 3, 3, 4],
      ]);
      expect((await exported(later, again.run)).split('\n')[4]).toBe(
        `3,"{""n"":3,""at"":4}",[3],sent 3 4,"[[3],""sent 3 4""]"`,
      );
      const { columns } = await whyRow(reportSource(later), again.run, { row: '2' });
      expect(columns.map(({ attempts }) => attempts.map(({ source }) => source))).toEqual([
        ['source_run'],
        [],
        ['live'],
        [],
      ]);
      // A row that failed before the column begins where it failed.
      const last = await rerun(later, first.run, { column: 'last' });
      expect([last.result[3], seen.plains, send.sent.length]).toEqual(['sent 3 4', 5, 11]);
      expect(await callsOf(later, last.run)).toMatchObject({ receipt: 1, live: 0, sourceRun: 0 });
    },
  );
});

describe('a child of a rerun', () => {
  verifies('RERUN-CHILD-1', 'is a rerun of the child of its source, and answered by it', async () => {
    const { tool, sent } = countedTool({ reuse: 'never' });
    const workspace = await testWorkspace({ tools: [tool] });
    const play = putFile(
      workspace.paths.dir,
      'family.play.ts',
      `import { definePlay } from 'callsheet';
       const child = definePlay('child', async (ctx, input) => {
         const rows = await ctx.dataset('in', [{ n: input.n }]).withColumn('v', async (row, ctx) =>
           (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data.got.n).run();
         return (await rows.materialize())[0].v;
       });
       export default definePlay('parent', async (ctx) => (await ctx.runPlayAsync('one', child, { n: 7 })).runId);`,
    );
    const { run } = await newRun(workspace, { play, cwd: workspace.paths.dir, input: {} });
    const first = await attempt(workspace, run.id);
    const child = (await attempt(workspace, first.result)).run;
    const again = await rerun(workspace, first.run);
    const next = await existingRun(workspace, again.result);
    expect(next).toMatchObject({ replayedFrom: child.id, parentRunId: again.run.id, input: child.input });
    expect((await attempt(workspace, next.id)).result).toBe(7);
    expect(sent).toHaveLength(1);
  });
});
