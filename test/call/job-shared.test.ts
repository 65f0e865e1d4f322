import { describe, expect } from 'vitest';
import type { Write } from '../../src/store/index.ts';
import type { Workspace } from '../../src/workspace/index.ts';
import { crash, crashingEngine, fastClock, laterClock } from '../harness/crash.ts';
import { jobProvider, jobRows, jobTool } from '../harness/jobs.ts';
import { queuedRerun } from '../harness/rerun.ts';
import { until } from '../harness/tools.ts';
import { attempt, creditsShown, openTest, queued, retryFailed, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

describe('a job that several runs poll', () => {
  const sum = async (workspace: Workspace, ids: readonly string[]) => {
    const shown = await Promise.all(ids.map((id) => creditsShown(workspace, id)));
    return shown.reduce((all, { settled, unknown }) => ({
      settled: all.settled + settled,
      unknown: all.unknown + unknown,
    }));
  };

  verifies('JOB-SHARED-1', 'is settled by the one that records its end first', async () => {
    const { tool, started } = await jobProvider(30);
    const dir = testFolder();
    const [one, other] = [await openTest(dir, { tools: [tool] }), await openTest(dir, { tools: [tool] })];
    const first = await queued(one, jobRows(4));
    const begun = attempt(one, first.id);
    await until(() => started() === 4);
    const second = await runPlay(other, jobRows(4), { maxCredits: 12 });
    expect([(await begun).result, second.result, started()]).toEqual([4, 4, 4]);
    expect(await sum(one, [first.id, second.run.id])).toEqual({ settled: 12, unknown: 0 });
    for (const { id, no } of [first, second.run]) {
      const rows = await one.store.datasets.rows(no, 1, { from: 0, to: 9, maxBytes: 9999 });
      const inRows = rows.reduce((all, { credits }) => all + credits, 0);
      expect(inRows).toBe((await creditsShown(one, id)).settled);
    }
  });

  verifies('JOB-SHARED-1', 'a killed run and its rerun as well, whichever dies', async () => {
    for (const rerunDies of [false, true]) {
      const { tool, started } = await jobProvider(30);
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = await queued(now, jobRows(4));
      await crash(now, source.id, (write) => write.kind === 'receipt' && write.receipt.tool === 'acme.research');
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      const other = await openTest(dir, { tools: [tool], clock: laterClock() });
      const made = await queuedRerun(later, source);
      if (rerunDies) {
        const ends = (write: Write) => write.kind === 'endJob' || write.kind === 'call';
        const dying = crashingEngine(later, ends);
        void dying.engine.start(made.id);
        await dying.dead;
        await attempt(other, source.id);
        const last = await openTest(dir, { tools: [tool], clock: laterClock(7_200_000) });
        await attempt(last, made.id);
      } else await Promise.all([attempt(later, made.id), attempt(other, source.id)]);
      expect(started()).toBe(4);
      expect(await sum(later, [source.id, made.id])).toEqual({ settled: 12, unknown: 0 });
    }
  });

  verifies('JOB-SHARED-1', 'and one that was killed while it polled has lost nothing by that', async () => {
    const { tool, started } = await jobProvider(30);
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const first = await queued(now, jobRows(4));
    await crash(now, first.id, (write) => write.kind === 'endJob');
    const second = await queued(now, jobRows(4));
    await crash(now, second.id, (write) => write.kind === 'endJob');
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    for (const { id } of [second, first]) await attempt(later, id);
    expect(started()).toBe(4);
    expect(await creditsShown(later, second.id)).toEqual({ settled: 12, unknown: 0 });
    expect(await creditsShown(later, first.id)).toEqual({ settled: 0, unknown: 0 });
  });

  verifies('JOB-SHARED-1', 'and what it was charged for one that is gone is not the cost of the next', async () => {
    const { tool, started, lose } = await jobProvider(30);
    const dir = testFolder();
    const open = (hours: number) => openTest(dir, { tools: [tool], clock: laterClock(hours * 3_600_000) });
    const isEnd = (write: Write): boolean => write.kind === 'endJob';
    const now = await open(0);
    const [first, second] = [await queued(now, jobRows(1)), await queued(now, jobRows(1))];
    for (const { id } of [first, second]) await crash(now, id, isEnd);
    lose();
    const later = await open(1);
    await attempt(later, second.id);
    // Another run starts the next job, and dies before it has ended.
    const third = await queued(later, jobRows(1));
    await crash(later, third.id, isEnd);
    const last = await open(2);
    expect((await retryFailed(last, second.id)).result).toBe(1);
    expect(started()).toBe(2);
    expect(await creditsShown(last, second.id)).toEqual({ settled: 3, unknown: 3 });
  });

  verifies('JOB-SHARED-1', 'also one that the tool could not read at first', async () => {
    const { provider, started, seen } = await jobProvider(30);
    const broken = jobTool(provider, {
      response: ({ json: body }) => ({ status: body.state === 'done' ? 'odd' : 'pending' }) as never,
    });
    const dir = testFolder({ 'callsheet.config.json': '{ "continueOnContractError": true }' });
    const one = await openTest(dir, { tools: [broken] });
    const other = await openTest(dir, { tools: [broken] });
    const begun = runPlay(one, jobRows(2));
    await until(() => seen() === 2);
    const [second, first] = [await runPlay(other, jobRows(2)), await begun];
    expect(started()).toBe(2);
    expect(await sum(one, [first.run.id, second.run.id])).toEqual({ settled: 0, unknown: 12 });
    const later = await openTest(dir, { tools: [jobTool(provider)] });
    for (const { run } of [first, second]) expect((await retryFailed(later, run.id)).result).toBe(2);
    expect(started()).toBe(2);
    expect(await sum(later, [first.run.id, second.run.id])).toEqual({ settled: 6, unknown: 0 });
  });

  verifies('JOB-SHARED-1', 'also one whose row was parked while another run recorded its end', async () => {
    const { provider, started, seen, finish } = await jobProvider(Number.POSITIVE_INFINITY);
    const slow = jobTool(provider, { async: { intervalMs: 40_000 } as never });
    const dir = testFolder();
    const clock = fastClock(20);
    const one = await openTest(dir, { tools: [slow], clock });
    const other = await openTest(dir, { tools: [jobTool(provider)], clock });
    const first = await queued(one, jobRows(2));
    const begun = attempt(one, first.id);
    await until(() => seen() === 2);
    finish();
    const second = await runPlay(other, jobRows(2));
    expect([(await begun).result, second.result, started()]).toEqual([2, 2, 2]);
    expect(await sum(one, [first.id, second.run.id])).toEqual({ settled: 6, unknown: 0 });
  });
});
