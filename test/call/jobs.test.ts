import { describe, expect } from 'vitest';
import { VirtualClock } from '../../src/scope/virtual-clock.ts';
import type { JobTool } from '../../src/sdk/index.ts';
import { crash, laterClock } from '../harness/crash.ts';
import { jobTool } from '../harness/jobs.ts';
import { json, testProvider } from '../harness/provider.ts';
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

/** A provider whose jobs are done after so many polls; each costs three credits. */
async function jobProvider(polls: number, more: { startStatus?: (n: number) => number } = {}) {
  const looks = new Map<string, number>();
  const keys: string[] = [];
  const polledUnder: unknown[] = [];
  const provider = await testProvider((response, { method, url, headers, body }) => {
    if (method === 'POST') {
      keys.push(String(headers['idempotency-key'] ?? ''));
      const status = more.startStatus?.(keys.length) ?? 202;
      return json(response, status, status === 202 ? { job: { id: keys.length }, asked: JSON.parse(body) } : {});
    }
    const id = url.slice('/jobs/'.length);
    polledUnder.push(headers['idempotency-key']);
    const seen = (looks.get(id) ?? 0) + 1;
    looks.set(id, seen);
    if (id === 'gone') return json(response, 404, {});
    return json(response, 200, seen < polls ? { state: 'working' } : { state: 'done', answer: `a${id}` });
  });
  const started = () => keys.length;
  const polled = () => [...looks.values()].reduce((sum, n) => sum + n, 0);
  return { provider, keys, polledUnder, started, polled };
}

/** A provider that answers every look at a job with this status, until it is mended. */
async function flakyJobs(status: number, refusedStarts = 0) {
  const keys: string[] = [];
  let refused = 0;
  let isMended = false;
  const { url, ...rest } = await testProvider((response, { method, headers }) => {
    if (method === 'POST') {
      if (refused++ < refusedStarts) return json(response, 429, {}, { 'retry-after': '0' });
      keys.push(String(headers['idempotency-key'] ?? ''));
      return json(response, 202, { job: { id: keys.length } });
    }
    return isMended ? json(response, 200, { state: 'done', answer: 'a' }) : json(response, status, {});
  });
  const mend = (): void => {
    isMended = true;
  };
  return { ...rest, url, keys, mend, started: () => keys.length };
}

const CALL = "ctx.tools.execute({ id: 'research', tool: 'acme.research', input: { n: row.n } })";
const rows = (count: number, value: string) => `async (ctx) => {
  const rows = await ctx.dataset('rows', Array.from({ length: ${count} }, (_, n) => ({ n })))
    .withColumn('v', async (row, ctx) => ${value}).run({ key: 'n' });
  return (await rows.materialize()).map((row) => row.v);
}`;

describe('a provider job', () => {
  verifies('JOB-POLL-1', 'is started once, polled until it is done, and costs once', async () => {
    const { provider, started, polled } = await jobProvider(3);
    const workspace = await testWorkspace({ tools: [jobTool(provider)] });
    const play = rows(4, `{ const r = await ${CALL}; return [r.data, r.execution.credits, r.execution.source]; }`);
    const first = await runPlay(workspace, play.replace('row.n }', 'row.n % 2 }'));
    expect(first.result.map(([, credits, source]: [unknown, number, string]) => [credits, source])).toEqual([
      [3, 'live'],
      [3, 'live'],
      [0, 'coalesced'],
      [0, 'coalesced'],
    ]);
    expect([started(), polled()]).toEqual([2, 6]);
    expect(await workspace.store.calls.settledCredits(first.run.no)).toBe(6);
    // Another run has the answers, not the jobs.
    expect((await runPlay(workspace, play)).result[0]).toEqual([expect.stringMatching(/^a[12]$/), 0, 'receipt']);
  });

  verifies('JOB-KEY-1', 'is started under an idempotency key and polled under none', async () => {
    const { provider, keys, polledUnder } = await jobProvider(3);
    const tool = jobTool(provider, { idempotency: { header: 'Idempotency-Key' } });
    const workspace = await testWorkspace({ tools: [tool] });
    expect((await runPlay(workspace, rows(1, `(await ${CALL}).data`))).result).toEqual(['a1']);
    expect(keys).toEqual([expect.stringMatching(/^[\w-]{40,}$/)]);
    expect(polledUnder).toEqual([undefined, undefined, undefined]);
  });

  verifies('JOB-HANDLE-1', 'that was started before its process died is polled, not started again', async () => {
    for (const parts of [{}, { effect: 'write' as const }, { reuse: 'never' as const }]) {
      const { provider, started } = await jobProvider(2);
      const tools = [jobTool(provider, parts)];
      const dir = testFolder();
      const workspace = await openTest(dir, { tools });
      const run = await queued(workspace, rows(3, `(await ${CALL}).data`));
      let starts = 0;
      await crash(workspace, run.id, (write) => {
        if (write.kind !== 'receipt') return false;
        if (write.receipt.tool === 'acme.research:start') starts++;
        return write.receipt.tool === 'acme.research';
      });
      expect([starts, started()]).toEqual([3, 3]);
      const next = await openTest(dir, { tools, clock: laterClock(60_000) });
      const { result } = await attempt(next, run.id);
      expect([...result].sort()).toEqual(['a1', 'a2', 'a3']);
      expect(started()).toBe(3);
      expect(await next.store.calls.settledCredits(run.no)).toBe(9);
      // Nothing of an ended job is left over.
      expect(await next.store.calls.unsettledReceipts(run.no)).toEqual([]);
    }
  });

  verifies('JOB-HANDLE-2', 'whose handle cannot be read is kept, and polled once the tool is mended', async () => {
    const { provider, started } = await jobProvider(1);
    const dir = testFolder();
    const wrong = jobTool(provider, {
      async: { ...jobTool(provider).async, handle: ({ json: body }) => body.id } as JobTool<{ n: number }>['async'],
    });
    const workspace = await openTest(dir, { tools: [wrong] });
    const failed = await runPlay(workspace, rows(1, `(await ${CALL}).data`));
    expect(failed.code).toBe('TOOL_CONTRACT');
    await workspace.close();
    const next = await openTest(dir, { tools: [jobTool(provider)] });
    expect([(await attempt(next, failed.run.id)).result, started()]).toEqual([['a1'], 1]);
  });

  verifies('JOB-PARK-1', 'that is polled rarely parks its row in between', async () => {
    const clock = new VirtualClock();
    const { provider, started, polled } = await jobProvider(3);
    const long = { intervalMs: 120_000, timeoutMs: 3_600_000 };
    const base = jobTool(provider).async as JobTool<{ n: number }>['async'];
    for (const parts of [{}, { effect: 'write' as const }]) {
      const before = started();
      const workspace = await testWorkspace({
        clock,
        tools: [jobTool(provider, { ...parts, async: { ...base, ...long } })],
      });
      const run = await queued(workspace, rows(2, `(await ${CALL}).data`));
      const { outcome } = await workspace.engine.start(run.id);
      let ended = false;
      void outcome.finally(() => {
        ended = true;
      });
      const looks = polled();
      let parkings = 0;
      while (!ended) {
        const { parked } = await workspace.store.datasets.rowCounts(run.no, 1);
        // The provider answers in real time: the clock hardly moves but while all rows wait.
        await clock.advance(parked === 2 ? 10_000 : 1);
        parkings = Math.max(parkings, parked);
      }
      expect(parkings).toBe(2);
      expect(await outcome).toMatchObject({ kind: 'completed' });
      expect([started() - before, polled() - looks]).toEqual([2, 6]);
      expect(await workspace.store.calls.settledCredits(run.no)).toBe(6);
    }
  });

  verifies('JOB-END-1', 'that is not done in time fails, and a later try asks for the very same job', async () => {
    const { provider, started, polled } = await jobProvider(6);
    const base = jobTool(provider).async as JobTool<{ n: number }>['async'];
    const workspace = await testWorkspace({ tools: [jobTool(provider, { async: { ...base, timeoutMs: 1 } })] });
    const first = await runPlay(workspace, rows(1, `(await ${CALL}).data`));
    expect(first.result).toEqual([null]);
    const [row] = await workspace.store.report.failedRows(first.run.no, 1, { afterOrdinal: -1, limit: 1 });
    expect(JSON.parse(row?.error ?? '{}')).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
    for (let tries = 0; tries < 8 && polled() < 6; tries++) await retryFailed(workspace, first.run.id);
    expect([started(), polled()]).toEqual([1, 6]);
  });

  for (const effect of ['read', 'write'] as const)
    for (const parts of [{}, { idempotency: { header: 'Idempotency-Key' } }])
      for (const status of effect === 'read' ? [401, 402, 422] : [401, 404])
        verifies(
          'JOB-END-2',
          `of a ${effect} is asked about again after ${status}, and not started again`,
          async () => {
            const provider = await flakyJobs(status);
            const workspace = await testWorkspace({ tools: [jobTool(provider, { effect, ...parts })] });
            const play = rows(4, `(await ${CALL}).data`);
            const { run, result } = await runPlay(workspace, play, { maxCredits: 12 });
            expect(result).toEqual([null, null, null, null]);
            expect(await creditsShown(workspace, run.id)).toEqual({ settled: 0, unknown: 12 });
            provider.mend();
            await retryFailed(workspace, run.id);
            expect(provider.started()).toBe(4);
            expect(await creditsShown(workspace, run.id)).toEqual({ settled: 12, unknown: 0 });
          },
        );

  for (const [parts, refusedStarts] of [
    [{}, 0],
    [{ idempotency: { header: 'Idempotency-Key' } }, 0],
    [{ idempotency: { header: 'Idempotency-Key' } }, 1],
  ] as const)
    verifies('JOB-END-3', 'that its provider knows no more is started again, and may have been charged', async () => {
      const provider = await flakyJobs(404, refusedStarts);
      const workspace = await testWorkspace({ tools: [jobTool(provider, parts)] });
      const { run } = await runPlay(workspace, rows(4, `(await ${CALL}).data`), { maxCredits: 30 });
      expect(await creditsShown(workspace, run.id)).toEqual({ settled: 0, unknown: 12 });
      provider.mend();
      expect((await retryFailed(workspace, run.id)).result).toHaveLength(4);
      expect([provider.started(), new Set(provider.keys).size]).toEqual([8, 'idempotency' in parts ? 8 : 1]);
      expect(await creditsShown(workspace, run.id)).toEqual({ settled: 12, unknown: 12 });
    });

  verifies('JOB-CALLER-1', "is left to a caller that says wait: 'caller', who gets the handle", async () => {
    const { provider, started, polled } = await jobProvider(2);
    const workspace = await testWorkspace({ tools: [jobTool(provider)] });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => {
        const started = await ctx.tools.execute({ id: 'r', tool: 'acme.research', input: { n: 1 }, wait: 'caller' });
        return { job: started.job_id, data: started.data, credits: started.execution.credits };
      }`,
    );
    expect(result).toEqual({ job: '1', data: { job: { id: 1 }, asked: { n: 1 } }, credits: 3 });
    expect([started(), polled()]).toEqual([1, 0]);
  });
});
