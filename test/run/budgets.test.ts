import { rmSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { runReport } from '../../src/report/index.ts';
import {
  existingRun,
  reportSource,
  resolveOperation,
  resumeOptions,
  type Workspace,
} from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { countedTool, latch } from '../harness/tools.ts';
import { attempt, openTest, queued, runPlay, settled, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ROWS = `async (ctx, input) => {
  const rows = Array.from({ length: input.rows }, (_, n) => ({ n: input.from + n }));
  const ds = await ctx.dataset('rows', rows, { key: 'n' })
    .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: row.n } })).data.got.n)
    .run({ concurrency: 64 });
  return (await ds.materialize()).length;
}`;

/** A tool whose calls are in flight together and cost anything up to `max`; `charged` is the provider's ledger. */
function charging(max: number) {
  const charged: number[] = [];
  const { tool } = countedTool(
    { cost: { max, credits: ({ data }: { data: { cost: number } }) => data.cost } as never },
    async (input) => {
      for (let turn = 0; turn < 3 + (input.n % 5); turn++) await new Promise((resolve) => setImmediate(resolve));
      const cost = 1 + (input.n % max);
      charged.push(cost);
      return { got: input, cost };
    },
  );
  return { tool, charged, sum: () => charged.reduce((total, cost) => total + cost, 0) };
}

const order = (rows: number, from = 0) => ({ input: { rows, from } });

describe('a run of 64 rows in flight', () => {
  verifies(
    'BUDGET-LIMIT-1',
    'spends all of its limit and not a credit more, and goes on with a higher one',
    async () => {
      const { tool, charged } = charging(1);
      const workspace = await testWorkspace({ tools: [tool] });
      const ended = await runPlay(workspace, ROWS, { ...order(300), maxCredits: 100 });
      expect([ended.code, charged.length, await settled(workspace, ended.run)]).toEqual(['OUT_OF_CREDITS', 100, 100]);
      await resumeOptions(workspace, await existingRun(workspace, ended.run.id), { maxCredits: 300 });
      const after = await attempt(workspace, ended.run.id);
      expect([after.result, charged.length, await settled(workspace, ended.run)]).toEqual([300, 300, 300]);
    },
  );

  verifies('BUDGET-LIMIT-1', 'stops only where its next call may cost more than is left', async () => {
    const { tool, sum } = charging(5);
    const workspace = await testWorkspace({ tools: [tool] });
    const ended = await runPlay(workspace, ROWS, { ...order(300), maxCredits: 200 });
    expect(ended.code).toBe('OUT_OF_CREDITS');
    expect(sum()).toBeLessThanOrEqual(200);
    expect(sum()).toBeGreaterThan(195);
    expect(await settled(workspace, ended.run)).toBe(sum());
  });
});

describe('creditsPerDay', () => {
  const config = { 'callsheet.config.json': '{ "creditsPerDay": 100 }' };

  verifies(
    ['BUDGET-DAY-1', 'BUDGET-TREE-1', 'BUDGET-OUT-1'],
    'is spent by the runs of two processes together, all of it and not a credit more, and anew on the next day',
    async () => {
      const { tool, charged } = charging(1);
      const dir = testFolder(config);
      const [one, two] = [await openTest(dir, { tools: [tool] }), await openTest(dir, { tools: [tool] })];
      const ended = await Promise.all([runPlay(one, ROWS, order(90)), runPlay(two, ROWS, order(90, 1_000))]);
      expect(charged).toHaveLength(100);
      expect(ended.map(({ code }) => code)).toContain('OUT_OF_CREDITS');
      const stopped = ended.find(({ code }) => code !== undefined) ?? ended[0];
      const { error } = stopped.outcome as unknown as { error: { message: string; next: string[] } };
      expect(error.message).toMatch(
        /the limit of this workspace for \d{4}-\d\d-\d\d \(creditsPerDay\) is 100; 100 were/,
      );
      expect(error.next.join('\n')).toMatch(
        /resume .* {3}\(from \d{4}-\d\d-\d\dT00:00:00.000Z on\)\n.*raise creditsPerDay/,
      );
      const third = await openTest(dir, { tools: [tool] });
      expect((await runPlay(third, ROWS, order(1, 5_000))).code).toBe('OUT_OF_CREDITS');
      const tomorrow = await openTest(dir, { tools: [tool], clock: laterClock(86_400_000) });
      expect((await attempt(tomorrow, stopped.run.id)).result).toBe(90);
    },
  );

  verifies('BUDGET-DAY-1', 'is read from the journals of the day where rates.db is gone', async () => {
    const { tool, charged } = charging(1);
    const dir = testFolder(config);
    const first = await openTest(dir, { tools: [tool] });
    expect((await runPlay(first, ROWS, order(70))).result).toBe(70);
    await first.close();
    for (const part of ['', '-wal', '-shm']) rmSync(first.paths.rates + part, { force: true });
    const next = await openTest(dir, { tools: [tool] });
    expect((await runPlay(next, ROWS, order(70, 1_000))).code).toBe('OUT_OF_CREDITS');
    expect(charged).toHaveLength(100);
  });

  verifies('BUDGET-DAY-1', 'holds nothing back for what costs nothing, nor for answers that are there', async () => {
    const { tool, charged } = charging(1);
    const free = countedTool({ id: 'acme.free', cost: { credits: 0 } });
    const dir = testFolder(config);
    const workspace = await openTest(dir, { tools: [tool, free.tool] });
    expect((await runPlay(workspace, ROWS, order(100))).result).toBe(100);
    expect((await runPlay(workspace, ROWS, order(100))).result).toBe(100);
    expect((await runPlay(workspace, ROWS.replace('acme.find', 'acme.free'), order(10))).result).toBe(10);
    expect(charged).toHaveLength(100);
  });
});

describe('the limit of a tree', () => {
  verifies('BUDGET-SHARED-1', 'is spent by two processes together, all of it and not a credit more', async () => {
    const sent: unknown[] = [];
    const [ofRoot, ofChild] = [latch(), latch()];
    const { tool } = countedTool({}, async (input) => {
      sent.push(input);
      (input.n < 1_000 ? ofRoot : ofChild).open();
      await Promise.all([ofRoot.opened, ofChild.opened]);
      return { got: input };
    });
    const dir = testFolder();
    const [one, two] = [await openTest(dir, { tools: [tool] }), await openTest(dir, { tools: [tool] })];
    const child = `definePlay('child', ${ROWS})`;
    const root = `async (ctx) => {
      await ctx.runPlayAsync('child', child, { rows: 90, from: 1000 });
      return (${ROWS})(ctx, { rows: 90, from: 0 });
    }`;
    const order = { maxCredits: 100, options: `{});\nconst child = ${child};\nvoid ({}` };
    const run = await queued(one, root, order);
    const adopted = new Promise<string>((resolve) => {
      one.deps.startRun = resolve;
    });
    const progress = await one.engine.start(run.id);
    const ends = [(await attempt(two, await adopted)).outcome.kind, (await progress.outcome).kind];
    expect(sent).toHaveLength(100);
    expect(ends).toContain('failed');
  });

  verifies(
    'BUDGET-TREE-2',
    'is raised by whichever of its runs goes on with more, also once its root has ended',
    async () => {
      const { tool, sent } = countedTool();
      const workspace = await testWorkspace({ tools: [tool] });
      const child = `definePlay('child', ${ROWS})`;
      const root = `async (ctx) => (await ctx.runPlayAsync('child', child, { rows: 30, from: 0 })).runId`;
      const options = `{});\nconst child = ${child};\nvoid ({}`;
      const { run, result } = await runPlay(workspace, root, { maxCredits: 20, options });
      expect(run.status).toBe('completed');
      const childId = String(result);
      const ended = await attempt(workspace, childId);
      expect([ended.code, sent.length]).toEqual(['OUT_OF_CREDITS', 20]);
      const { run: told } = await runReport(reportSource(workspace), await existingRun(workspace, childId));
      expect(told.error?.next).toEqual([`callsheet runs resume ${childId} --max-credits 40`]);
      await resumeOptions(workspace, await existingRun(workspace, childId), { maxCredits: 25 });
      expect([(await attempt(workspace, childId)).code, sent.length]).toEqual(['OUT_OF_CREDITS', 25]);
      await resumeOptions(workspace, await existingRun(workspace, childId), { maxCredits: 40 });
      expect([(await attempt(workspace, childId)).result, sent.length]).toEqual([30, 30]);
    },
  );
});

describe('a write in doubt', () => {
  const SEND = `async (ctx) => (await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { to: 'ada' } })).data`;
  const creditsOf = async (workspace: Workspace, id: string) =>
    (await runReport(reportSource(workspace), await existingRun(workspace, id))).credits;

  verifies(
    'BUDGET-UNKNOWN-1',
    'may have cost credits: unknown, until its run goes on once somebody has said that it was done',
    async () => {
      const { tool } = countedTool({ id: 'acme.send', effect: 'write', cost: { credits: 3 } });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const run = await queued(now, SEND, { maxCredits: 5 });
      await crash(now, run.id, (write) => write.kind === 'receipt');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect(await creditsOf(later, run.id)).toMatchObject({ settled: 0, unknown: 3, limit: 5 });
      expect((await attempt(later, run.id)).code).toBe('IN_DOUBT');
      expect(await creditsOf(later, run.id)).toMatchObject({ settled: 0, unknown: 3 });
      const open = await later.deps.budgets.open(later.store, await existingRun(later, run.id));
      expect(open.budget.snapshot()).toMatchObject({ settled: 0, unknown: 3 });
      open.close();
      const [operation] = await later.store.report.operationsOfRun(1, 1);
      await resolveOperation(later, await existingRun(later, run.id), {
        call: operation?.callId ?? '',
        as: 'done',
        data: { id: 'm1' },
      });
      // It is settled once the run has gone on.
      expect(await creditsOf(later, run.id)).toMatchObject({ settled: 0, unknown: 3 });
      await resumeOptions(later, await existingRun(later, run.id), { retryFailed: true });
      expect((await attempt(later, run.id)).result).toEqual({ id: 'm1' });
      expect(await creditsOf(later, run.id)).toMatchObject({ settled: 3, unknown: 0 });
    },
  );
});
