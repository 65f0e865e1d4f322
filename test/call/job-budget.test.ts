import { describe, expect } from 'vitest';
import { existingRun, resumeOptions } from '../../src/workspace/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { jobProvider, jobRows, jobTool } from '../harness/jobs.ts';
import { json, testProvider } from '../harness/provider.ts';
import { rerun } from '../harness/rerun.ts';
import { countedTool } from '../harness/tools.ts';
import {
  attempt,
  creditsShown,
  openTest,
  queued,
  runPlay,
  settled,
  testFolder,
  testWorkspace,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const LIMIT = { maxCredits: 15 };

describe('a budget that ends among jobs', () => {
  verifies('JOB-BUDGET-1', 'lets those that are open end, spends all of it, and goes on with more', async () => {
    const { tool, started } = await jobProvider();
    const workspace = await testWorkspace({ tools: [tool] });
    const ended = await runPlay(workspace, jobRows(8), LIMIT);
    expect([ended.code, started(), await settled(workspace, ended.run)]).toEqual(['OUT_OF_CREDITS', 5, 15]);
    await resumeOptions(workspace, await existingRun(workspace, ended.run.id), { maxCredits: 24 });
    const after = await attempt(workspace, ended.run.id);
    expect([after.result, started(), await settled(workspace, ended.run)]).toEqual([8, 8, 24]);
  });

  verifies('JOB-BUDGET-1', 'is kept by the next attempt, which finds them open', async () => {
    const { tool, started } = await jobProvider();
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(now, jobRows(8), LIMIT);
    await crash(now, run.id, (write) => write.kind === 'receipt' && write.receipt.tool === 'acme.research');
    expect(started()).toBe(5);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const { code } = await attempt(later, run.id);
    expect([code, started(), await settled(later, run)]).toEqual(['OUT_OF_CREDITS', 5, 15]);
  });

  verifies('JOB-BUDGET-2', 'holds nobody up for a job that nobody can ask about', async () => {
    let started = 0;
    const provider = await testProvider((response, { method }) =>
      method === 'POST' ? json(response, 202, { job: { id: ++started } }) : json(response, 500, {}),
    );
    const workspace = await testWorkspace({ tools: [jobTool(provider, { maxTries: 1 })] });
    const { code, run } = await runPlay(workspace, jobRows(8), LIMIT);
    // They may come to be charged: what they may cost is spent, and shown as unknown.
    expect([code, started]).toEqual(['OUT_OF_CREDITS', 5]);
    expect(await creditsShown(workspace, run.id)).toEqual({ settled: 0, unknown: 15 });
  });

  verifies('JOB-BUDGET-1', 'is kept by another run that asks for the same jobs', async () => {
    // So many that the start of each is on disk by then.
    const { tool, started } = await jobProvider(20);
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const first = await queued(now, jobRows(8));
    await crash(now, first.id, (write) => write.kind === 'receipt' && write.receipt.tool === 'acme.research');
    expect(started()).toBe(8);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const second = await runPlay(later, jobRows(8), LIMIT);
    expect([second.code, started(), await settled(later, second.run)]).toEqual(['OUT_OF_CREDITS', 8, 15]);
  });
});

verifies('JOB-ENDED-1', 'a job that a rerun has ended costs the run nothing that had started it', async () => {
  for (const isLost of [false, true]) {
    const { tool, started } = await jobProvider();
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(now, jobRows(2));
    const dies = isLost ? 'acme.research:start' : 'acme.research';
    await crash(now, run.id, (write) => write.kind === 'receipt' && write.receipt.tool === dies);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const made = await rerun(later, await existingRun(later, run.id));
    expect(await creditsShown(later, made.run.id)).toEqual({ settled: 6, unknown: 0 });
    await attempt(later, run.id);
    // What was started and never recorded is another job, which the rerun has not ended.
    expect(started()).toBe(isLost ? 4 : 2);
    expect(await creditsShown(later, run.id)).toEqual({ settled: 0, unknown: isLost ? 6 : 0 });
  }
});

verifies('BUDGET-OWED-1', 'answers that a dead attempt has paid and not journalled count first', async () => {
  const { tool, sent } = countedTool({ cost: { credits: 3 } });
  const dir = testFolder();
  const now = await openTest(dir, { tools: [tool] });
  const run = await queued(now, jobRows(8, 'acme.find'), LIMIT);
  await crash(now, run.id, (write) => write.kind === 'call');
  const paid = sent.length;
  expect(paid).toBeGreaterThan(0);
  const later = await openTest(dir, { tools: [tool], clock: laterClock() });
  const { code } = await attempt(later, run.id);
  expect([code, sent.length, await settled(later, run)]).toEqual(['OUT_OF_CREDITS', 5, 15]);
});
