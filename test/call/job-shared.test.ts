import { describe, expect } from 'vitest';
import type { Write } from '../../src/store/index.ts';
import type { Workspace } from '../../src/workspace/index.ts';
import { crash, crashingEngine, fastClock, laterClock } from '../harness/crash.ts';
import { jobTool } from '../harness/jobs.ts';
import { json, testProvider } from '../harness/provider.ts';
import { queuedRerun } from '../harness/rerun.ts';
import { until } from '../harness/tools.ts';
import { attempt, creditsShown, openTest, queued, retryFailed, runPlay, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

/** A provider that charges three credits when a job is started, and whose jobs are done at so manieth a look, or all at once. */
async function jobs(needed: number) {
  const looks = new Map<string, number>();
  let [started, isFinished] = [0, false];
  const provider = await testProvider((response, { method, url }) => {
    if (method === 'POST') return json(response, 202, { job: { id: ++started } });
    const seen = (looks.get(url) ?? 0) + 1;
    looks.set(url, seen);
    const isDone = isFinished || seen >= needed;
    return json(response, 200, isDone ? { state: 'done', answer: url } : { state: 'working' });
  });
  const finish = (): void => {
    isFinished = true;
  };
  return { provider, tool: jobTool(provider), started: () => started, seen: () => looks.size, finish };
}

const few = (rows: number): string => `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: ${rows} }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) =>
      (await ctx.tools.execute({ id: 'x', tool: 'acme.research', input: { n: row.n } })).status)
    .run({ key: 'n' });
  return await rows.count();
}`;

describe('a job that several runs poll', () => {
  const sum = async (workspace: Workspace, ids: readonly string[]) => {
    const shown = await Promise.all(ids.map((id) => creditsShown(workspace, id)));
    return shown.reduce((all, { settled, unknown }) => ({
      settled: all.settled + settled,
      unknown: all.unknown + unknown,
    }));
  };

  verifies('JOB-SHARED-1', 'is settled by the one that records its end first', async () => {
    const { tool, started } = await jobs(30);
    const dir = testFolder();
    const [one, other] = [await openTest(dir, { tools: [tool] }), await openTest(dir, { tools: [tool] })];
    const first = await queued(one, few(4));
    const begun = attempt(one, first.id);
    await until(() => started() === 4);
    const second = await runPlay(other, few(4), { maxCredits: 12 });
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
      const { tool, started } = await jobs(30);
      const dir = testFolder();
      const now = await openTest(dir, { tools: [tool] });
      const source = await queued(now, few(4));
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
    const { tool, started } = await jobs(30);
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const first = await queued(now, few(4));
    await crash(now, first.id, (write) => write.kind === 'endJob');
    const second = await queued(now, few(4));
    await crash(now, second.id, (write) => write.kind === 'endJob');
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    for (const { id } of [second, first]) await attempt(later, id);
    expect(started()).toBe(4);
    expect(await creditsShown(later, second.id)).toEqual({ settled: 12, unknown: 0 });
    expect(await creditsShown(later, first.id)).toEqual({ settled: 0, unknown: 0 });
  });

  verifies('JOB-SHARED-1', 'also one that the tool could not read at first', async () => {
    const { provider, started, seen } = await jobs(30);
    const broken = jobTool(provider, {
      response: ({ json: body }) => ({ status: body.state === 'done' ? 'odd' : 'pending' }) as never,
    });
    const dir = testFolder({ 'callsheet.config.json': '{ "continueOnContractError": true }' });
    const one = await openTest(dir, { tools: [broken] });
    const other = await openTest(dir, { tools: [broken] });
    const begun = runPlay(one, few(2));
    await until(() => seen() === 2);
    const [second, first] = [await runPlay(other, few(2)), await begun];
    expect(started()).toBe(2);
    expect(await sum(one, [first.run.id, second.run.id])).toEqual({ settled: 0, unknown: 12 });
    const later = await openTest(dir, { tools: [jobTool(provider)] });
    for (const { run } of [first, second]) expect((await retryFailed(later, run.id)).result).toBe(2);
    expect(started()).toBe(2);
    expect(await sum(later, [first.run.id, second.run.id])).toEqual({ settled: 6, unknown: 0 });
  });

  verifies('JOB-SHARED-1', 'also one whose row was parked while another run recorded its end', async () => {
    const { provider, started, seen, finish } = await jobs(Number.POSITIVE_INFINITY);
    const slow = jobTool(provider, { async: { intervalMs: 40_000 } as never });
    const dir = testFolder();
    const clock = fastClock(20);
    const one = await openTest(dir, { tools: [slow], clock });
    const other = await openTest(dir, { tools: [jobTool(provider)], clock });
    const first = await queued(one, few(2));
    const begun = attempt(one, first.id);
    await until(() => seen() === 2);
    finish();
    const second = await runPlay(other, few(2));
    expect([(await begun).result, second.result, started()]).toEqual([2, 2, 2]);
    expect(await sum(one, [first.id, second.run.id])).toEqual({ settled: 6, unknown: 0 });
  });
});
