import { describe, expect } from 'vitest';
import { runReport } from '../../src/report/index.ts';
import { existingRun, newRun, reportSource, type Workspace } from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { countedTool } from '../harness/tools.ts';
import { attempt, openTest, putFile, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** A play file with plays beside the exported one; `$` is the body of that. */
function family(workspace: Workspace, text: string): Promise<{ id: string }> {
  const play = putFile(workspace.paths.dir, 'family.play.ts', `import { definePlay } from 'callsheet';\n${text}`);
  return newRun(workspace, { play, cwd: workspace.paths.dir, input: {} }).then(({ run }) => run);
}

const CALL = `(ctx, n) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n } }).then((r) => r.data.got.n)`;

describe('a child in the same run', () => {
  verifies(
    ['CHILD-INLINE-1', 'CHILD-NAMED-1', 'DATASET-NAME-1'],
    'has a place of its own, and what it does counts for the run',
    async () => {
      const { tool, sent } = countedTool();
      const workspace = await testWorkspace({ tools: [tool] });
      putFile(
        workspace.paths.dir,
        'inner.play.ts',
        `import { definePlay } from 'callsheet';
       const call = ${CALL};
       export default definePlay('inner', async (ctx, input: { from: number }) => {
         const rows = await ctx.dataset('rows', [{ n: input.from }, { n: input.from + 1 }]).withColumn('v', (row, ctx) => call(ctx, row.n)).run();
         return { rows, at: ctx.run.id, frozen: Object.isFrozen(input) };
       }, { input: { type: 'object', properties: { from: { type: 'number' } }, required: ['from'] } });`,
      );
      const run = await family(
        workspace,
        `import inner from './inner.play.ts';
       export default definePlay('outer', async (ctx) => {
         const rows = await ctx.dataset('rows', [{ n: 1 }]).withColumn('v', (row) => row.n).run();
         const [one, two] = await Promise.all([ctx.runPlay('one', inner, { from: 10 }), ctx.runPlay('two', 'inner', { from: 20 })]);
         const wrong = await ctx.runPlay('three', inner, { from: 'x' }).catch((error) => error.code);
         const none = await ctx.runPlay('four', 'nobody', {}).catch((error) => error.code);
         return { rows, one, two, read: (await one.rows.materialize()).map((row) => row.v), same: one.at === ctx.run.id, wrong, none };
       });`,
      );
      const { result } = await attempt(workspace, run.id);
      expect(result).toMatchObject({
        rows: { dataset: 'rows' },
        one: { rows: { dataset: 'one:inner/rows' }, frozen: true },
        two: { rows: { dataset: 'two:inner/rows' } },
        read: [10, 11],
        same: true,
        wrong: 'PLAY_INPUT_INVALID',
        none: 'PLAY_EXPORT_NOT_FOUND',
      });
      const report = await runReport(reportSource(workspace), await existingRun(workspace, run.id));
      expect(report.datasets.map(({ key, completed }) => [key, completed])).toEqual([
        ['rows', 1],
        ['one:inner/rows', 2],
        ['two:inner/rows', 2],
      ]);
      expect(report.next).toEqual(
        report.datasets.map(({ key }) => `callsheet runs export ${run.id} --dataset ${key} -o out.csv`),
      );
      expect([report.credits.settled, report.calls.live, sent.length]).toEqual([4, 4, 4]);
    },
  );

  verifies('CHILD-INLINE-2', 'that waits suspends what is around it, up to its row or the run', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const text = (body: string) => `const call = ${CALL};
      const child = definePlay('child', async (ctx, input) => { const got = await call(ctx, input.n); await ctx.sleep('1h'); return got; });
      export default definePlay('outer', async (ctx) => { ${body} });`;
    const bodies = [
      `try { return await ctx.runPlay('c', child, { n: 1 }); } catch { return 'caught'; }`,
      `const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }]).withColumn('v', (row, ctx) =>
         row.n === 2 ? 2 : ctx.runPlay('c', child, { n: 1 })).run();
       return (await rows.materialize())[0].v;`,
    ];
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    for (const [index, body] of bodies.entries()) {
      const run = await family(workspace, text(body));
      expect((await attempt(workspace, run.id)).outcome.kind).toBe('suspended');
      expect((await attempt(later, run.id)).result).toBe(1);
      // The second run is answered by the receipt of the first.
      expect([index, sent.length]).toEqual([index, 1]);
    }
  });

  verifies('CHILD-INLINE-3', 'that fails is caught by its parent, unless the error ends the run', async () => {
    const { tool } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const run = await family(
      workspace,
      `const call = ${CALL};
       const fails = definePlay('fails', async () => { throw new TypeError('mine'); });
       const spends = definePlay('spends', async (ctx) => { for (let n = 0; n < 9; n++) await call(ctx, n); });
       export default definePlay('outer', async (ctx, input) => {
         const first = await ctx.runPlay('a', fails, {}).catch((error) => error.message);
         await ctx.runPlay('b', spends, {}).catch(() => {});
         return first;
       }, { billing: { maxCreditsPerRun: 3 } });`,
    );
    const { code, events } = await attempt(workspace, run.id);
    expect(code).toBe('OUT_OF_CREDITS');
    expect(events.some(({ message }) => message.includes('mine'))).toBe(false);
    const caught = await family(
      workspace,
      `const fails = definePlay('fails', async () => { throw new TypeError('mine'); });
       export default definePlay('outer', async (ctx) => ctx.runPlay('a', fails, {}).catch((error) => error.message));`,
    );
    expect((await attempt(workspace, caught.id)).result).toBe('mine');
  });

  verifies(
    'CHILD-LIMITS-1',
    'is refused where it never ends, is too deep, one too many, or a dataset in a row',
    async () => {
      const workspace = await testWorkspace();
      const run = await family(
        workspace,
        `const plays = new Map();
       const cycle = definePlay('cycle', (ctx) => ctx.runPlay('again', 'cycle', {}));
       for (let n = 0; n < 10; n++) plays.set(n, definePlay('deep' + n, (ctx) => n === 9 ? 'deep' : ctx.runPlay('d', plays.get(n + 1), {})));
       const leaf = definePlay('leaf', async (ctx, input) => input.n);
       const nested = definePlay('nested', (ctx) => ctx.dataset('rows', [{ n: 1 }]).run());
       const code = (running) => running.then((value) => value, (error) => error.code);
       export default definePlay('outer', async (ctx) => {
         const rows = await ctx.dataset('rows', [{ n: 1 }])
           .withColumn('many', async (row, ctx) => {
             for (let n = 0; n < 100; n++) await ctx.runPlay('k' + n, leaf, { n });
             return [await code(ctx.runPlay('k5', leaf, { n: 5 })), await code(ctx.runPlay('k100', leaf, { n: 100 }))];
           })
           .run();
         const inRow = await ctx.dataset('others', [{ n: 1 }])
           .withColumn('nested', (row, ctx) => code(ctx.runPlay('n', nested, {}))).run();
         const many = [];
         for (let n = 0; n < 120; n++) many.push(await ctx.runPlay('m' + n, leaf, { n }));
         return [await code(ctx.runPlay('c', cycle, {})), await code(ctx.runPlay('d', plays.get(0), {})),
           await code(ctx.runPlay('d', plays.get(3), {})), await rows.first(), (await inRow.first()).nested, many.length, await code(ctx.runPlay(' ', leaf, {})),
           await ctx.runPlay('c', cycle, {}).catch((error) => error.message)];
       });`,
      );
      expect((await attempt(workspace, run.id)).result).toEqual([
        'CHILD_REFUSED',
        'CHILD_REFUSED',
        'deep',
        { n: 1, many: [5, 'CHILD_REFUSED'] },
        'DATASET_NESTED',
        120,
        'CALL_REQUEST_INVALID',
        expect.stringContaining('(outer > cycle > cycle)'),
      ]);
    },
  );
});

describe('a run that a run starts', () => {
  const PARENT = `const child = definePlay('child', async (ctx, input) => { await ctx.sleep(input.ms ?? 0); return input.n; });
    export default definePlay('parent', async (ctx) => {
      const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }]).withColumn('run', async (row, ctx) =>
        (await ctx.runPlayAsync('c', child, { n: row.n })).runId).run({ key: 'n', concurrency: 1 });
      const again = [await ctx.runPlayAsync('top', child, { n: 3 }), await ctx.runPlayAsync('top', child, { n: 3 })];
      return [...(await rows.materialize()).map((row) => row.run), ...again.map(({ runId }) => runId)];
    });`;

  verifies(
    ['CHILD-ASYNC-1', 'CHILD-LINEAGE-1'],
    'is started once, whatever is killed, and knows whose it is',
    async () => {
      const dir = testFolder();
      const workspace = await openTest(dir);
      const run = await family(workspace, PARENT);
      await crash(workspace, run.id, (write) => write.kind === 'row' && write.row.ordinal === 1);
      const later = await openTest(dir, { clock: laterClock() });
      const { result } = await attempt(later, run.id);
      expect([result.length, new Set(result).size, result[2] === result[3]]).toEqual([4, 3, true]);
      const children = await later.store.runs.childrenOf(run.id);
      expect(children.map((child) => child.id).sort()).toEqual([...new Set(result)].sort());
      for (const child of children)
        expect(child).toMatchObject({ parentRunId: run.id, rootRunId: run.id, status: 'queued', play: 'child' });
      expect((await later.store.runs.runsDue(later.clock.now(), 10)).map(({ id }) => id).sort()).toEqual(
        [...new Set(result)].sort(),
      );
      expect((await attempt(later, result[1])).result).toBe(2);
    },
  );

  verifies('CHILD-ASYNC-1', 'is worked on beside its parent where somebody attends', async () => {
    const workspace = await testWorkspace();
    const run = await family(workspace, PARENT);
    workspace.children.attend();
    const { result } = await attempt(workspace, run.id);
    await workspace.children.settled();
    const ended = await Promise.all([...new Set<string>(result)].map((id) => existingRun(workspace, id)));
    expect(ended.map(({ status, result }) => [status, result])).toEqual([
      ['completed', '1'],
      ['completed', '2'],
      ['completed', '3'],
    ]);
  });

  verifies(
    ['CHILD-ASYNC-2', 'CHILD-LINEAGE-1'],
    'is never another one under the same key, nor its own ancestor',
    async () => {
      const workspace = await testWorkspace();
      const first = await family(
        workspace,
        `const child = definePlay('child', async () => 1);
       export default definePlay('parent', async (ctx) => {
         await ctx.runPlayAsync('c', child, { n: 1 });
         try { await ctx.runPlayAsync('c', child, { n: 2 }); } catch {}
         return 'looks finished';
       });`,
      );
      expect((await attempt(workspace, first.id)).code).toBe('NON_DETERMINISTIC');
      const resumed = await family(
        workspace,
        `const child = definePlay('child', async () => 1);
       export default definePlay('parent', async (ctx) => {
         await ctx.runPlayAsync('c', child, { n: ctx.run.attempt });
         await ctx.waitForEvent('w', { event: 'go' });
       });`,
      );
      expect((await attempt(workspace, resumed.id)).outcome.kind).toBe('suspended');
      expect((await attempt(workspace, resumed.id)).code).toBe('NON_DETERMINISTIC');
      const run = await family(
        workspace,
        `const loop = definePlay('loop', (ctx) => ctx.runPlayAsync('again', 'loop', {}).catch((error) => error.code));
       export default definePlay('parent', (ctx) => ctx.runPlayAsync('c', loop, {}));`,
      );
      const { result } = await attempt(workspace, run.id);
      expect((await attempt(workspace, result.runId)).result).toBe('CHILD_REFUSED');
    },
  );

  verifies('CHILD-BUDGET-1', 'draws on the limit of its root, and so does its root on what it spent', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const run = await family(
      workspace,
      `const call = ${CALL};
       const child = definePlay('child', async (ctx, input) => { for (let n = 0; n < 4; n++) await call(ctx, input.from + n); return 'spent'; });
       export default definePlay('parent', async (ctx) => {
         const { runId } = await ctx.runPlayAsync('a', child, { from: 10 });
         await call(ctx, 1);
         await ctx.waitForEvent('w', { event: 'go' });
         await call(ctx, 2);
         await call(ctx, 3);
         return runId;
       }, { billing: { maxCreditsPerRun: 6 } });`,
    );
    expect((await attempt(workspace, run.id)).outcome.kind).toBe('suspended');
    const [child] = await workspace.store.runs.childrenOf(run.id);
    expect((await attempt(workspace, child?.id ?? '')).result).toBe('spent');
    const signal = { runId: run.id, event: 'go', rowKey: null, waitNo: null, all: false, data: '1', at: 1 };
    await workspace.committer.commit([{ kind: 'signal', signal }]);
    // One before the wait, four of the child, one after it: the seventh is too many.
    expect([(await attempt(workspace, run.id)).code, sent.length]).toEqual(['OUT_OF_CREDITS', 6]);
    const other = await family(
      workspace,
      `const call = ${CALL};
       const child = definePlay('child', async (ctx, input) => { for (let n = 0; n < 4; n++) await call(ctx, input.from + n); });
       export default definePlay('parent', async (ctx) => ctx.runPlayAsync('a', child, { from: 20 }), { billing: { maxCreditsPerRun: 3 } });`,
    );
    const { result } = await attempt(workspace, other.id);
    expect([(await attempt(workspace, result.runId)).code, sent.length]).toEqual(['OUT_OF_CREDITS', 9]);
  });
});
