import { describe, expect } from 'vitest';
import { errorsReport } from '../../src/report/index.ts';
import { existingRun, reportSource, resolveOperation, resumeOptions } from '../../src/workspace/index.ts';
import { crash, crashingEngine, laterClock } from '../harness/crash.ts';
import { diedInRates } from '../harness/rates.ts';
import { batchedTool, countedTool, endsAs, latch } from '../harness/tools.ts';
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

const asks = (of: readonly number[]): string => `async (ctx) => {
  const ends = await Promise.allSettled([${of.join()}].map((n) =>
    ctx.tools.execute({ id: 'q' + n, tool: 'acme.find', input: { n } })));
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return ends.length;
}`;
const ROW = `async (ctx) => {
  const rows = await ctx.dataset('rows', [{ n: 1 }, { n: 2 }]).withColumn('v', async (row, ctx) =>
    (await ctx.tools.execute({ id: 'q', tool: 'acme.find', input: { n: row.n } })).data).run({ key: 'n' });
  return (await rows.materialize()).length;
}`;

/** A tool whose answers refuse the question 2 as long as `refuses` says how. */
function refusing(
  parts: object,
  refuses: () => string | undefined,
  meanwhile: (n: number) => Promise<void> | void = () => {},
) {
  return batchedTool(
    {
      ...{ maxSize: 4, ...parts },
      split: (answer) =>
        (answer as number[]).map((n) => {
          const ending = n === 2 ? refuses() : undefined;
          if (ending === undefined) return { status: 'completed', data: n };
          return { status: 'failed', message: 'no such domain', ending: ending as 'rejected' };
        }),
    },
    async (inputs) => {
      for (const { n } of inputs) await meanwhile(n);
      return inputs.map(({ n }) => n);
    },
  );
}

describe('a member that the answer to its batch refuses', () => {
  verifies('BATCH-REFUSED-1', 'costs nothing, however often it is asked again, and uses no limit up', async () => {
    let ending: string | undefined = 'rejected';
    const { tool, sent } = refusing({}, () => ending);
    const workspace = await testWorkspace({ tools: [tool] });
    const { run, code } = await runPlay(workspace, asks([1, 2, 3]), { maxCredits: 3 });
    expect(code).toBe('PROVIDER_REJECTED');
    for (let again = 0; again < 3; again++) {
      await retryFailed(workspace, run.id);
      expect(await creditsShown(workspace, run.id)).toEqual({ settled: 2, unknown: 0 });
    }
    expect(sent.map(({ inputs }) => inputs.length)).toEqual([3, 1, 1, 1]);
    ending = undefined;
    expect((await retryFailed(workspace, run.id)).result).toBe(3);
    expect(await creditsShown(workspace, run.id)).toEqual({ settled: 3, unknown: 0 });
  });

  verifies('BATCH-REFUSED-1', 'holds nothing back that others need before it is asked again', async () => {
    let isMended = false;
    const { tool } = refusing({}, () => 'rejected');
    const dear = countedTool({ id: 'acme.dear', cost: { credits: 2 } }, () => {
      if (isMended) return 'ok';
      throw endsAs('rejected');
    });
    const workspace = await testWorkspace({ tools: [tool, dear.tool] });
    const play = `async (ctx) => {
      await ctx.tools.execute({ id: 'd', tool: 'acme.dear', input: {} }).catch(() => {});
      await ctx.tools.execute({ id: 'q', tool: 'acme.find', input: { n: 2 } });
    }`;
    const { run } = await runPlay(workspace, play, { maxCredits: 2 });
    isMended = true;
    await retryFailed(workspace, run.id);
    expect(await creditsShown(workspace, run.id)).toEqual({ settled: 2, unknown: 0 });
  });

  verifies(
    'BATCH-REFUSED-1',
    'and answered at its next try has bought nothing before, whatever ends the run',
    async () => {
      let asked = 0;
      const { tool } = refusing({}, () => (++asked === 1 ? 'deferred' : undefined));
      const workspace = await testWorkspace({ tools: [tool] });
      const { run } = await runPlay(workspace, asks([1, 2]).replace('return ends.length', "throw new Error('later')"));
      expect(await workspace.store.calls.unsettledReceipts(run.no)).toEqual([]);
      expect(await creditsShown(workspace, run.id)).toEqual({ settled: 2, unknown: 0 });
    },
  );

  verifies(
    'BATCH-REFUSED-1',
    'and waits to be asked again has bought nothing, where the run ends meanwhile',
    async () => {
      const { tool } = refusing({}, () => 'deferred');
      const workspace = await testWorkspace({ tools: [tool] });
      const run = await queued(workspace, asks([1, 2]));
      const progress = await workspace.engine.start(run.id);
      const tries = async () => (await workspace.store.report.operationsOfRun(run.no, 9)).map(({ tries }) => tries);
      while ((await tries())[0] === undefined) await new Promise((resolve) => setImmediate(resolve));
      progress.interrupt();
      await progress.outcome;
      expect(await creditsShown(workspace, run.id)).toEqual({ settled: 1, unknown: 0 });
    },
  );

  verifies('BATCH-REFUSED-1', 'and was out again at a kill may have been charged', async () => {
    for (const play of [asks([1, 2]), ROW]) {
      const dir = testFolder();
      const isOut = latch();
      let isMended = false;
      const { tool } = refusing(
        {},
        () => (isMended ? undefined : 'rejected'),
        async () => {
          if (!isMended) return;
          isOut.open();
          await new Promise(() => {});
        },
      );
      const now = await openTest(dir, { tools: [tool] });
      const { run } = await runPlay(now, play);
      isMended = true;
      await resumeOptions(now, await existingRun(now, run.id), { retryFailed: true });
      const { engine, die } = crashingEngine(now, () => false);
      void engine.start(run.id);
      await isOut.opened;
      die();
      const later = await openTest(dir, { tools: [tool], clock: laterClock() });
      expect(await creditsShown(later, run.id)).toEqual({ settled: 1, unknown: 1 });
    }
  });

  verifies('BATCH-REFUSED-1', 'is free of what it held where its process died before it could say so', async () => {
    const { tool } = refusing({}, () => 'rejected');
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    const run = await queued(now, asks([1, 2]), { maxCredits: 2 });
    await crash(now, run.id, (write) => write.kind === 'call');
    diedInRates(now.paths.rates);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    expect((await attempt(later, run.id)).code).toBe('PROVIDER_REJECTED');
    expect(await creditsShown(later, run.id)).toEqual({ settled: 1, unknown: 0 });
  });

  verifies('BATCH-REFUSED-2', 'without saying whether it was done may have been charged, each time', async () => {
    const { tool, sent } = refusing({ maxTries: 2 }, () => 'ambiguous');
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await runPlay(workspace, asks([1, 2]), { maxCredits: 9 });
    expect(sent.map(({ inputs }) => inputs.length)).toEqual([2, 1]);
    expect(await creditsShown(workspace, run.id)).toEqual({ settled: 1, unknown: 2 });
  });

  verifies(
    ['BATCH-REFUSED-2', 'BATCH-DOUBT-1'],
    'is in doubt as often as nobody knows, and given back each time',
    async () => {
      const { tool, sent } = refusing({ effect: 'write' }, () => 'ambiguous');
      const workspace = await testWorkspace({ tools: [tool] });
      const { run } = await runPlay(workspace, ROW, { maxCredits: 2 });
      for (let again = 1; again <= 3; again++) {
        const { inDoubt, answeredLate } = await errorsReport(
          reportSource(workspace),
          await existingRun(workspace, run.id),
        );
        expect([inDoubt.length, answeredLate.length, sent.length]).toEqual([1, 0, again]);
        expect(await creditsShown(workspace, run.id)).toEqual({ settled: 1, unknown: 1 });
        const [doubt] = await workspace.store.report
          .operationsOfRun(run.no, 9)
          .then((all) => all.filter(({ state }) => state === 'intended'));
        const known = await existingRun(workspace, run.id);
        await resolveOperation(workspace, known, { call: doubt?.callId ?? '', as: 'notDone', data: null });
        expect(await creditsShown(workspace, run.id)).toEqual({ settled: 1, unknown: 0 });
        await retryFailed(workspace, run.id);
      }
    },
  );
});
