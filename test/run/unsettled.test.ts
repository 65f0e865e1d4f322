import { rmSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { errorsReport, runReport, whyRun } from '../../src/report/index.ts';
import type { Unit } from '../../src/store/index.ts';
import { existingRun, reportSource, resolveOperation, type Workspace } from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { jobTool } from '../harness/jobs.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool } from '../harness/tools.ts';
import {
  attempt,
  creditsShown,
  openTest,
  queued,
  retryFailed,
  runPlay,
  testFolder,
  testWorkspace,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const FIND = `async (ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { n: 1 } })).data`;
const SEND = `async (ctx) => (await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { to: 'ada' } })).data`;
const SEND_ROW = `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 1 }]).withColumn('sent', async (row, ctx) => (${SEND})(ctx)).run({ key: 'n' });
  return (await rows.materialize())[0]?.sent ?? null;
}`;

async function errorsOf(workspace: Workspace, id: string) {
  const { inDoubt, answeredLate } = await errorsReport(reportSource(workspace), await existingRun(workspace, id));
  return { inDoubt, answeredLate };
}

/** A tool whose jobs are done at the first look; each costs two credits of three at the most. */
async function foundByJob() {
  const provider = await testProvider((response, { method }) =>
    method === 'POST'
      ? json(response, 202, { job: { id: 'j1' } })
      : json(response, 200, { state: 'done', answer: 'found' }),
  );
  return jobTool(provider, { id: 'acme.find', cost: { max: 3, credits: 2 } });
}

describe('credits that a run has spent and not settled', () => {
  verifies('BUDGET-UNKNOWN-2', 'are those of the jobs that it has started, until they have ended', async () => {
    const tools = [await foundByJob()];
    for (const ends of ['resume', 'cancel'] as const) {
      const dir = testFolder();
      const now = await openTest(dir, { tools });
      const run = await queued(now, FIND);
      await crash(now, run.id, (write) => write.kind === 'receipt' && write.receipt.tool === 'acme.find');
      // As far as anybody can tell, somebody works on it.
      expect(await creditsShown(now, run.id)).toEqual({ settled: 0, unknown: 0 });
      const later = await openTest(dir, { tools, clock: laterClock() });
      expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: 3 });
      if (ends === 'resume') {
        expect((await attempt(later, run.id)).result).toBe('found');
        expect(await creditsShown(later, run.id)).toEqual({ settled: 2, unknown: 0 });
      } else {
        expect(await later.engine.cancel(run.id)).toBe('cancelled');
        expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: 3 });
        // What they may have cost is on record, though their tool is gone.
        expect(await creditsShown(await openTest(dir, { clock: laterClock() }), run.id)).toEqual({
          settled: 0,
          unknown: 3,
        });
      }
    }
  });

  verifies('BUDGET-UNKNOWN-2', 'are those of answers that it has bought and not journalled', async () => {
    const { tool } = countedTool({ id: 'acme.find', cost: { credits: 3 } });
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(now, FIND);
    await crash(now, run.id, (write) => write.kind === 'call');
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: 3 });
    await attempt(later, run.id);
    expect(await creditsShown(later, run.id)).toEqual({ settled: 3, unknown: 0 });
  });
});

describe('an answer that costs more than the declared max', () => {
  const dear = (max: number) => countedTool({ id: 'acme.find', cost: { credits: () => 4, max } }).tool;

  verifies('BUDGET-ABOVE-MAX-1', 'is shown at its own price until it is settled', async () => {
    const dir = testFolder();
    const now = await openTest(dir, { tools: [dear(3)] });
    const { run, code } = await runPlay(now, FIND);
    expect(code).toBe('TOOL_CONTRACT');
    expect(await creditsShown(now, run.id)).toEqual({ settled: 0, unknown: 4 });
    const { unknown } = await whyRun(reportSource(now), await existingRun(now, run.id), { limit: 10 });
    expect(unknown).toMatchObject({ credits: 4, calls: [{ tool: 'acme.find', credits: 4, why: 'not_settled' }] });
    await now.close();
    const later = await openTest(dir, { tools: [dear(5)] });
    await attempt(later, run.id);
    expect(await creditsShown(later, run.id)).toEqual({ settled: 4, unknown: 0 });
  });

  verifies('BUDGET-ABOVE-MAX-1', 'is charged at its own price where the run goes on', async () => {
    const config = `import { defineConfig } from 'callsheet'; export default defineConfig({ continueOnContractError: true });`;
    const workspace = await testWorkspace({ tools: [dear(3)], files: { 'callsheet.config.ts': config } });
    const { run } = await runPlay(workspace, FIND);
    expect(await creditsShown(workspace, run.id)).toEqual({ settled: 4, unknown: 0 });
  });
});

describe('credits that nobody knows of once rates.db is lost', () => {
  for (const [what, play, tool, dies] of [
    ['a write in doubt', SEND, { id: 'acme.send', effect: 'write' }, 'receipt'],
    ['an answer that was not journalled', FIND, { id: 'acme.find' }, 'call'],
  ] as const)
    verifies(['BUDGET-UNKNOWN-1', 'BUDGET-UNKNOWN-2'], `are those of ${what} all the same`, async () => {
      const tools = [countedTool({ ...tool, cost: { credits: 3 } }).tool];
      const dir = testFolder();
      const now = await openTest(dir, { tools });
      const run = await queued(now, play);
      await crash(now, run.id, (write) => write.kind === dies);
      const later = await openTest(dir, { tools, clock: laterClock() });
      const { rates } = later.paths;
      for (const file of [rates, `${rates}-wal`, `${rates}-shm`]) rmSync(file, { force: true });
      expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: 3 });
    });
});

describe('a write whose answer came late', () => {
  for (const [where, play, status] of [
    ['of the play itself', SEND, 'failed'],
    ['of a row', SEND_ROW, 'completed'],
  ] as const)
    verifies('DOUBT-LATE-2', `${where} is not in doubt, and the run that goes on takes the answer`, async () => {
      const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write', cost: { credits: 3 } });
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const run = await queued(now, play);
      let late: Unit = [];
      await crash(now, run.id, (write) => {
        if (write.kind === 'receipt') late = [write];
        return write.kind === 'receipt';
      });
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect((await attempt(later, run.id)).run.status).toBe(status);
      const [doubt] = (await errorsOf(later, run.id)).inDoubt;
      expect(doubt?.tool).toBe('acme.send');
      // The process had only been stopped: it brings what it was paid for.
      await now.committer.commit(late);
      const { inDoubt, answeredLate } = await errorsOf(later, run.id);
      expect(inDoubt).toEqual([]);
      expect(answeredLate).toMatchObject([
        {
          call: doubt?.call,
          receiptId: 'rcp_1',
          next: [`callsheet runs resume ${run.id} --retry-failed`, 'callsheet receipts show rcp_1'],
        },
      ]);
      const report = await runReport(reportSource(later), await existingRun(later, run.id));
      expect(report).toMatchObject({ inDoubt: 0, credits: { unknown: 3 } });
      const order = { call: doubt?.call ?? '', as: 'notDone', data: null } as const;
      await expect(resolveOperation(later, await existingRun(later, run.id), order)).rejects.toMatchObject({
        code: 'OPERATION_NOT_FOUND',
      });
      expect([(await retryFailed(later, run.id)).result, sent.length]).toEqual([{ got: { to: 'ada' } }, 1]);
      expect(await errorsOf(later, run.id)).toEqual({ inDoubt: [], answeredLate: [] });
      expect(await creditsShown(later, run.id)).toEqual({ settled: 3, unknown: 0 });
    });
});
