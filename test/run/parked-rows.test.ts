import { describe, expect } from 'vitest';
import { crash, laterClock } from '../harness/crash.ts';
import { countedTool, heldTool } from '../harness/tools.ts';
import { attempt, openTest, queued, runPlay, signal, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

describe('rows that wait', () => {
  const rows = (resolver: string, options = '{ concurrency: 2, key: "n" }', count = 6) => `async (ctx) => {
    const rows = await ctx.dataset('rows', Array.from({ length: ${count} }, (_, n) => ({ n })))
      .withColumn('v', ${resolver}).run(${options});
    return (await rows.materialize()).map((row) => row.v);
  }`;

  verifies('SUSPEND-ROW-1', 'are parked while the others go on; the answer reaches its row', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const first = await runPlay(
      workspace,
      rows(`async (row, ctx) => {
        const { data } = await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } });
        return row.n % 2 === 0 ? data.got.n : (await ctx.waitForEvent('ok', { event: 'go' })).n;
      }`),
    );
    expect([first.outcome.kind, sent.length]).toEqual(['suspended', 6]);
    expect(first.outcome).toMatchObject({ wakeAt: null, events: [{ event: 'go', count: 3 }] });
    expect(await workspace.store.datasets.rowCounts(first.run.no, 1)).toMatchObject({ completed: 3, parked: 3 });
    expect(await workspace.store.calls.settledCredits(first.run.no)).toBe(6);
    await expect(signal(workspace, { runId: first.run.id })).rejects.toMatchObject({ what: 'signal-several' });
    await signal(workspace, { runId: first.run.id, rowKey: '3', data: '{"n":33}' });
    await signal(workspace, { runId: first.run.id, rowKey: '1', data: '{"n":11}' });
    expect((await attempt(workspace, first.run.id)).outcome).toMatchObject({ events: [{ event: 'go', count: 1 }] });
    await signal(workspace, { runId: first.run.id, rowKey: '5', data: '{"n":55}' });
    const last = await attempt(workspace, first.run.id);
    expect([last.result, sent.length]).toEqual([[0, 11, 2, 33, 4, 55], 6]);
    expect(await workspace.store.datasets.rowCounts(first.run.no, 1)).toMatchObject({ completed: 6, credits: 6 });
  });

  verifies('SUSPEND-READMIT-1', 'are admitted again in the same attempt when their wait is over', async () => {
    const { tool, sent, open } = heldTool((n) => n === 5);
    const workspace = await testWorkspace({ tools: [tool] });
    const run = await queued(
      workspace,
      rows(`async (row, ctx) => {
        const { data } = await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } });
        if (row.n === 0) await ctx.sleep(2_500);
        return row.n < 3 ? [data, (await ctx.waitForEvent('ok', { event: 'go' })).n, ctx.run.attempt] : data;
      }`),
    );
    const progress = await workspace.engine.start(run.id);
    const states = async () => workspace.store.datasets.rowCounts(run.no, 1);
    while ((await states()).parked < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await signal(workspace, { runId: run.id, all: true, data: '{"n":9}' });
    await signal(workspace, { runId: run.id, rowKey: '0', data: '{"n":9}' });
    while ((await states()).completed < 5) await new Promise((resolve) => setTimeout(resolve, 5));
    open();
    expect(await progress.outcome).toMatchObject({
      kind: 'completed',
      result: [[0, 9, 1], [1, 9, 1], [2, 9, 1], 3, 4, 5],
    });
    expect(progress.view()?.context.datasets.progress()[0]).toMatchObject({ completed: 6, waiting: 0, credits: 6 });
    expect(sent).toHaveLength(6);
  });

  verifies('SUSPEND-MAXPARKED-1', 'are no more than maxParked, and no row starts past them', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const first = await runPlay(
      workspace,
      rows(
        `async (row, ctx) => {
          await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } });
          return (await ctx.waitForEvent('ok', { event: 'go' })).ok;
        }`,
        '{ concurrency: 2, maxParked: 4, key: "n" }',
        9,
      ),
    );
    // Rows that are in flight already may still come to wait: two at a time, so one more at most.
    expect([first.outcome.kind, sent.length]).toEqual(['suspended', 5]);
    await signal(workspace, { runId: first.run.id, all: true });
    const next = await attempt(workspace, first.run.id);
    expect([next.outcome.kind, sent.length]).toEqual(['suspended', 9]);
    await signal(workspace, { runId: first.run.id, all: true });
    expect((await attempt(workspace, first.run.id)).result).toEqual(Array(9).fill(true));
    expect(sent).toHaveLength(9);
  });

  verifies('SUSPEND-STILL-1', 'are left alone by an attempt in which nothing of theirs has happened', async () => {
    const workspace = await testWorkspace();
    const first = await runPlay(
      workspace,
      rows(`async (row, ctx) => {
        console.log('row', row.n, ctx.run.attempt);
        await ctx.waitForEvent('first', { event: 'one' });
        return (await ctx.waitForEvent('second', { event: 'two' })).ok;
      }`),
    );
    await signal(workspace, { runId: first.run.id, event: 'one', rowKey: '3' });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const second = await attempt(workspace, first.run.id);
    const ran = (events: typeof second.events) =>
      events.filter(({ type }) => type === 'console').map(({ message }) => message);
    expect([ran(first.events).length, ran(second.events)]).toEqual([6, ['row 3 2']]);
    expect(second.outcome).toMatchObject({
      events: [
        { event: 'one', count: 5 },
        { event: 'two', count: 1 },
      ],
    });
    await signal(workspace, { runId: first.run.id, event: 'one', all: true });
    await signal(workspace, { runId: first.run.id, event: 'two', all: true });
    const third = await attempt(workspace, first.run.id);
    expect(third.outcome.kind).toBe('suspended');
    await signal(workspace, { runId: first.run.id, event: 'two', all: true });
    expect((await attempt(workspace, first.run.id)).result).toEqual(Array(6).fill(true));
  });

  verifies('SUSPEND-SNAPSHOT-1', 'go on from the rows that were admitted, whatever their source says now', async () => {
    const workspace = await testWorkspace();
    const first = await runPlay(
      workspace,
      `async (ctx) => {
        async function* source() { for (let n = 0; n < 3; n++) yield { n, made: ctx.run.attempt }; }
        const rows = await ctx.dataset('rows', source())
          .withColumn('v', async (row, ctx) => (await ctx.waitForEvent('ok', { event: 'go' })) && row.made).run({ key: 'n' });
        return (await rows.materialize()).map((row) => row.v);
      }`,
    );
    await signal(workspace, { runId: first.run.id, all: true });
    expect((await attempt(workspace, first.run.id)).result).toEqual([1, 1, 1]);
  });

  verifies(
    'SUSPEND-CRASH-1',
    'and are killed before they are parked lose no answer and buy nothing again',
    async () => {
      const { tool, sent } = countedTool();
      const dir = testFolder();
      const workspace = await openTest(dir, { tools: [tool] });
      const run = await queued(
        workspace,
        rows(`async (row, ctx) => {
        await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } });
        return (await ctx.waitForEvent('ok', { event: 'go' })).n;
      }`),
      );
      await crash(workspace, run.id, (write) => write.kind === 'row' && write.row.ordinal === 2);
      await signal(workspace, { runId: run.id, rowKey: '2', data: '{"n":2}' });
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect((await attempt(later, run.id)).outcome).toMatchObject({ events: [{ event: 'go', count: 5 }] });
      for (const n of [4, 0, 5, 3, 1]) await signal(later, { runId: run.id, rowKey: String(n), data: `{"n":${n}}` });
      expect((await attempt(later, run.id)).result).toEqual([0, 1, 2, 3, 4, 5]);
      const asked = sent.map(({ input }) => input.n);
      expect(new Set(asked.slice(0, 3))).toEqual(new Set([0, 1, 2]));
      // Two were in flight at the kill at most; what was recorded is not asked again.
      expect(asked.length).toBeLessThanOrEqual(8);
      expect(asked.filter((n) => n < 3)).toHaveLength(3);
    },
  );

  verifies('SUSPEND-DATASET-1', 'hold up no other dataset that has begun', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const { outcome } = await runPlay(
      workspace,
      `async (ctx) => {
        const rows = (name, resolver) => ctx.dataset(name, Array.from({ length: 40 }, (_, n) => ({ n }))).withColumn('v', resolver).run({ key: 'n', concurrency: 1 });
        await Promise.all([
          rows('waiting', (row, ctx) => ctx.waitForEvent('ok', { event: 'go' })),
          rows('working', (row, ctx) => ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } }).then(() => 1)),
          ctx.sleep('1h'),
        ]);
      }`,
    );
    expect([outcome.kind, sent.length]).toEqual(['suspended', 40]);
  });
});
