import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { exportDataset, runReport, whyRow, whyRun } from '../../src/report/index.ts';
import { type RunRecord, reportSource, resumeOptions, type Workspace } from '../../src/workspace/index.ts';
import { zeroChance } from '../harness/crash.ts';
import { rerun } from '../harness/rerun.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { attempt, playFile, queued, retryFailed, runPlay, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ask = (id: string, tool: string, n: string): string =>
  `(await ctx.tools.execute({ id: '${id}', tool: '${tool}', input: { n: ${n} } })).data`;

/** Calls in the body, a step, a program and an inline child that has a dataset of its own, beside those of rows. */
const EVERYWHERE = `(() => {
  const child = definePlay('child', async (ctx) => {
    ${ask('of child', 'two.find', "'child'")};
    const inner = await ctx.dataset('inner', [{ n: 10 }, { n: 11 }])
      .withColumn('deep', async (row, ctx) => ${ask('d', 'one.find', 'row.n')}).run({ key: 'n' });
    return { inner };
  });
  return async (ctx) => {
    ${ask('body', 'one.find', "'body'")};
    await ctx.step('noted', async () => ${ask('in step', 'two.find', "'step'")});
    await ctx.runSteps(steps().step('leg', async (row, ctx) => ${ask('in program', 'one.find', "'program'")})
      .return((row) => row.leg), {});
    try { ${ask('refused', 'shaky.find', "'refused'")}; } catch {}
    await ctx.runPlay('c', child, {});
    const rows = await ctx.dataset('rows', [0, 1, 2, 0].map((n) => ({ n })))
      .withColumn('a', async (row, ctx) => ${ask('x', 'one.find', 'row.n')})
      .withColumn('a.b', async (row, ctx) => ${ask('x', 'two.find', 'row.n')})
      .withColumn('c', async (row, own) => ${ask('by the play itself', 'shaky.find', 'row.n')})
      .run({ key: 'n', concurrency: 1 });
    return { rows };
  };
})()`;

function tools(broken: { is: boolean } = { is: true }) {
  return [
    countedTool({ id: 'one.find' }).tool,
    countedTool({ id: 'two.find', cost: { credits: 5 } }).tool,
    countedTool({ id: 'shaky.find', cost: { credits: 7 }, maxTries: 1 }, ({ n }) => {
      if (broken.is && (n === 'refused' || n === 1)) throw endsAs('rejected');
      return n;
    }).tool,
  ];
}

/** Adds up the cells of every dataset's provenance export, and holds them against what `runs show` and `why` say. */
async function balance(workspace: Workspace, run: RunRecord) {
  const source = reportSource(workspace);
  const { credits, datasets } = await runReport(source, run);
  const { settled, outsideRows, outsideColumns } = credits;
  const path = join(workspace.paths.dir, 'out.jsonl');
  let cells = 0;
  for (const { key } of datasets) {
    const { credits: told } = await exportDataset(source, run, { path, dataset: key, provenance: true });
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const own = lines
      .flatMap((line) => Object.values(JSON.parse(line)._provenance as Record<string, { credits: number }>))
      .reduce((sum, cell) => sum + cell.credits, 0);
    expect(told).toEqual({
      written: own,
      elsewhere: settled - own - outsideRows - outsideColumns,
      inNoCell: outsideRows + outsideColumns,
    });
    cells += own;
  }
  expect(cells + outsideRows + outsideColumns).toBe(settled);
  const why = await whyRun(source, run, { limit: 1_000 });
  expect(why.credits).toEqual({ settled, cells, outsideRows, outsideColumns });
  expect(why.calls.reduce((sum, call) => sum + call.credits, 0)).toBe(outsideRows + outsideColumns);
  expect(why).toMatchObject({ total: why.calls.length, nextCursor: null, codeVersion: run.artifact });
  return { cells, outsideRows, outsideColumns, calls: why.calls };
}

describe('calls that are in no cell', () => {
  verifies(
    ['WHY-OUTSIDE-1', 'PROVENANCE-CREDITS-2'],
    'are listed with all that is known of them, and are what the cells leave out of the credits',
    async () => {
      const workspace = await testWorkspace({ tools: tools(), chance: zeroChance() });
      const { run } = await runPlay(workspace, EVERYWHERE);
      const { calls, ...sums } = await balance(workspace, run);
      // Three rows of two columns and two of the child's; what a column asks by the play's own ctx is no cell's.
      expect(sums).toEqual({ cells: 3 * 6 + 2, outsideRows: 1 + 5 + 1 + 5 + 2 * 7, outsideColumns: 0 });
      const shown = calls.map(({ label, leg, tool, outcome, source, credits, error, dataset, row }) => {
        expect([dataset, row]).toEqual([null, null]);
        return [label, leg, tool, outcome, source, credits, error?.code ?? null];
      });
      const row = ['by the play itself', 'by the play itself', 'shaky.find'];
      expect(new Set(shown)).toEqual(
        new Set([
          ['body', 'body', 'one.find', 'completed', 'live', 1, null],
          ['in step', 'in step', 'two.find', 'completed', 'live', 5, null],
          ['in program', 'leg', 'one.find', 'completed', 'live', 1, null],
          ['refused', 'refused', 'shaky.find', 'failed', 'live', 0, 'TOOL_THREW'],
          ['of child', 'of child', 'two.find', 'completed', 'live', 5, null],
          [...row, 'completed', 'live', 7, null],
          [...row, 'failed', 'live', 0, 'TOOL_THREW'],
          [...row, 'completed', 'live', 7, null],
        ]),
      );
      for (const { call, receiptId, outcome, at } of calls) {
        expect(call).toMatch(/^(call_)?[\w-]{20,}$/);
        expect(receiptId !== null).toBe(outcome === 'completed');
        expect(Date.parse(at ?? '')).toBeGreaterThan(0);
      }
    },
  );

  verifies(
    ['WHY-OUTSIDE-1', 'PROVENANCE-CREDITS-2'],
    'add up over failures that are tried again, receipts, reruns and refreshes',
    async () => {
      const broken = { is: true };
      const workspace = await testWorkspace({ tools: tools(broken), chance: zeroChance() });
      const first = await runPlay(workspace, EVERYWHERE);
      broken.is = false;
      const retried = await retryFailed(workspace, first.run.id);
      expect(await balance(workspace, retried.run)).toMatchObject({ outsideRows: 12 + 4 * 7 });
      const again = await runPlay(workspace, EVERYWHERE);
      const known = await balance(workspace, again.run);
      expect(known).toMatchObject({ cells: 0, outsideRows: 0 });
      expect(new Set(known.calls.map(({ source }) => source))).toEqual(new Set(['receipt']));
      const partly = await rerun(workspace, retried.run, { rows: ['1'], refresh: ['two.find'] });
      const some = await balance(workspace, partly.run);
      expect(some).toMatchObject({ cells: 5, outsideRows: 10 });
      expect(some.calls.find(({ label }) => label === 'body')).toMatchObject({ source: 'source_run', credits: 0 });
      const chained = await rerun(workspace, partly.run, { column: 'a.b', refresh: 'all' });
      await balance(workspace, chained.run);
      const poor = await runPlay(workspace, EVERYWHERE.replaceAll('n: row.n', 'n: row.n + 20'), { maxCredits: 9 });
      expect(poor.code).toBe('OUT_OF_CREDITS');
      expect(await balance(workspace, poor.run)).toMatchObject({ outsideRows: 0, cells: 8 });
    },
  );

  verifies(
    ['WHY-OUTSIDE-1', 'PROVENANCE-CREDITS-2'],
    'are those of rows, too, whose column the code of now does not have',
    async () => {
      const workspace = await testWorkspace({ tools: tools({ is: false }) });
      const source = `async (ctx) => {
        const rows = await ctx.dataset('rows', [{ n: 0 }, { n: 1 }])
          .withColumn('old', async (row, ctx) => ${ask('x', 'two.find', 'row.n')}).run({ key: 'n' });
        throw new Error('not yet');
      }`;
      const file = 'renamed.play.ts';
      const { run } = await runPlay(workspace, source, { file });
      await balance(workspace, run);
      playFile(workspace, source.replace("'old'", "'new'").replace("throw new Error('not yet')", 'return { rows }'), {
        file,
      });
      await resumeOptions(workspace, run, { code: { play: file, cwd: workspace.paths.dir } });
      const renamed = await attempt(workspace, run.id);
      expect(renamed.outcome.kind).toBe('completed');
      const { calls, ...sums } = await balance(workspace, renamed.run);
      expect(sums).toEqual({ cells: 0, outsideRows: 0, outsideColumns: 10 });
      expect(calls).toMatchObject([
        { dataset: 'rows', row: '#1', leg: 'old', label: 'x', tool: 'two.find', source: 'live', credits: 5 },
        { dataset: 'rows', row: '#2', leg: 'old' },
      ]);
      const { columns } = await whyRow(reportSource(workspace), renamed.run, { row: '1' });
      expect(columns).toMatchObject([{ name: 'new', credits: 0, attempts: [{ source: 'receipt' }] }]);
    },
  );

  verifies('WHY-OUTSIDE-1', 'come in pages that miss none and repeat none', async () => {
    const workspace = await testWorkspace({ tools: tools() });
    const { run } = await runPlay(
      workspace,
      `async (ctx) => { for (let n = 0; n < 7; n++) ${ask('x', 'one.find', 'n')}; return {}; }`,
    );
    const source = reportSource(workspace);
    const all = (await whyRun(source, run, { limit: 100 })).calls.map(({ call }) => call);
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await whyRun(source, run, { limit: 3, cursor });
      expect(page.total).toBe(7);
      seen.push(...page.calls.map(({ call }) => call));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(all);
    expect(new Set(seen).size).toBe(7);
    await expect(whyRun(source, run, { limit: 3, cursor: 'x' })).rejects.toMatchObject({ code: 'USAGE' });
    const unbegun = await queued(workspace, 'async () => ({})');
    expect(await whyRun(source, unbegun, { limit: 3 })).toMatchObject({ total: 0, calls: [], next: [] });
  });
});
