import { describe, expect } from 'vitest';
import { errorsReport } from '../../src/report/index.ts';
import { defineTool } from '../../src/sdk/index.ts';
import { existingRun, reportSource, resolveOperation, resumeOptions } from '../../src/workspace/index.ts';
import { json, testProvider } from '../harness/provider.ts';
import { rerun } from '../harness/rerun.ts';
import { batchedTool, chargedFor, countedTool, endsAs, inputRows } from '../harness/tools.ts';
import {
  attempt,
  creditsShown,
  openTest,
  retryFailed,
  runPlay,
  testFolder,
  testWorkspace,
} from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ROWS = inputRows(16);
const KEYED = { idempotency: { header: 'Idempotency-Key' } };
const order = (maxCredits: number) => ({ input: { rows: 200 }, maxCredits });

const configOf = (config: object) => ({ 'callsheet.config.json': JSON.stringify(config) });

/** A provider that does and charges all, and loses every third answer. */
function losing(parts: object) {
  let asked = 0;
  const found = countedTool({ maxTries: 3, ...parts }, async ({ n }) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (++asked % 3 === 0) throw endsAs('ambiguous');
    return n;
  });
  return { ...found, charged: () => chargedFor(found.sent, parts) };
}

describe('answers that are lost', () => {
  verifies('BUDGET-LOST-1', 'never take a run over its limit, with a key nor without', async () => {
    const limits = { rate: [{ calls: 2_000, per: '1s' }], concurrency: 8 };
    for (const parts of [{}, KEYED, { limits }, { ...KEYED, limits }]) {
      const { tool, charged } = losing(parts);
      const workspace = await testWorkspace({ tools: [tool] });
      const { code, run } = await runPlay(workspace, ROWS, order(40));
      const { settled, unknown } = await creditsShown(workspace, run.id);
      expect(code).toBe('OUT_OF_CREDITS');
      expect(charged()).toBeLessThanOrEqual(40);
      // With a key all of it is used: what is sent again is charged once.
      if ('idempotency' in parts) expect([charged(), settled + unknown]).toEqual([40, 40]);
      expect(charged()).toBeGreaterThanOrEqual(settled);
    }
  });

  verifies('BUDGET-LOST-1', 'are shown as unknown where no try brought one, until a retry does', async () => {
    let isLost = true;
    const { tool, sent } = countedTool({ maxTries: 2, ...KEYED }, ({ n }) => {
      if (isLost && n % 4 === 0) throw endsAs('ambiguous');
      return n;
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { run } = await runPlay(workspace, ROWS, { input: { rows: 20 } });
    expect(await creditsShown(workspace, run.id)).toMatchObject({ settled: 15, unknown: 5 });
    isLost = false;
    await resumeOptions(workspace, await existingRun(workspace, run.id), { retryFailed: true });
    await attempt(workspace, run.id);
    expect(await creditsShown(workspace, run.id)).toMatchObject({ settled: 20, unknown: 0 });
    expect(new Set(sent.map(({ operationKey }) => operationKey)).size).toBe(20);
  });

  for (const [how, limits] of [
    ['the run', { maxCredits: 12 }],
    ['the day', { creditsPerDay: 12 }],
  ] as const)
    verifies(
      'BUDGET-LOST-2',
      `are held for their calls by the limit of ${how}: tried again under a key they need no more`,
      async () => {
        const { maxCredits, creditsPerDay } = limits as { maxCredits?: number; creditsPerDay?: number };
        const config = creditsPerDay === undefined ? {} : { creditsPerDay };
        for (const isBatched of [false, true]) {
          let isLost = true;
          // The first to go out are lost, so that all the limit is used up by then.
          const lose = (): void => {
            if (isLost) throw endsAs('ambiguous');
          };
          const parts = { maxTries: 1, ...KEYED };
          const single = countedTool(parts, ({ n }) => {
            lose();
            return n;
          });
          const batched = batchedTool({ ...parts, maxSize: 4 }, (inputs) => {
            lose();
            return inputs.map(({ n }) => n);
          });
          const { tool } = isBatched ? batched : single;
          const dir = testFolder(configOf(config));
          const workspace = await openTest(dir, { tools: [tool] });
          const { run } = await runPlay(workspace, ROWS, { input: { rows: 12 }, maxCredits });
          expect(await creditsShown(workspace, run.id)).toMatchObject({ settled: 0, unknown: 12 });
          isLost = false;
          // In a process that has not seen the provider fail.
          await retryFailed(await openTest(dir, { tools: [tool] }), run.id);
          expect(await creditsShown(workspace, run.id)).toMatchObject({ settled: 12, unknown: 0 });
          expect(new Set([...single.sent, ...batched.sent].map(({ operationKey }) => operationKey)).size).toBe(
            isBatched ? 3 : 12,
          );
        }
      },
    );

  verifies('BUDGET-LOST-2', 'go first where rows before them need credits that they hold', async () => {
    let isHealthy = false;
    const { tool, sent } = countedTool({ maxTries: 1, ...KEYED }, ({ n }) => {
      if (isHealthy) return n;
      throw endsAs(n < 40 ? 'rejected' : 'ambiguous');
    });
    const dir = testFolder();
    const { run } = await runPlay(await openTest(dir, { tools: [tool] }), ROWS, { input: { rows: 48 }, maxCredits: 8 });
    expect(sent).toHaveLength(48);
    isHealthy = true;
    const healed = await openTest(dir, { tools: [tool] });
    expect((await retryFailed(healed, run.id)).code).toBe('OUT_OF_CREDITS');
    expect(await creditsShown(healed, run.id)).toMatchObject({ settled: 8, unknown: 0 });
    expect(sent.slice(48).map(({ input }) => input.n)).toEqual([40, 41, 42, 43, 44, 45, 46, 47]);
  });

  verifies(
    'RERUN-DOUBT-CREDITS-1',
    'of writes are settled where they were sent, whichever run is told what became of them',
    async () => {
      let isLost = true;
      const { tool, sent } = countedTool({ effect: 'write' }, ({ n }) => {
        if (isLost) throw endsAs('ambiguous');
        return n;
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const { run } = await runPlay(workspace, ROWS, { input: { rows: 3 } });
      isLost = false;
      const again = await rerun(workspace, run, { failed: true });
      expect(await creditsShown(workspace, again.run.id)).toMatchObject({ settled: 0, unknown: 0 });
      for (const { id } of [run, again.run]) {
        const { inDoubt } = await errorsReport(reportSource(workspace), await existingRun(workspace, id));
        expect(inDoubt).toHaveLength(3);
        for (const { call } of inDoubt)
          await resolveOperation(workspace, await existingRun(workspace, id), { call, as: 'done', data: 7 });
      }
      expect(await creditsShown(workspace, run.id)).toMatchObject({ settled: 0, unknown: 3 });
      await retryFailed(workspace, again.run.id);
      expect(await creditsShown(workspace, again.run.id)).toMatchObject({ settled: 0, unknown: 0 });
      await retryFailed(workspace, run.id);
      expect([sent.length, await creditsShown(workspace, run.id)]).toMatchObject([3, { settled: 3, unknown: 0 }]);
    },
  );

  verifies(
    ['BUDGET-LOST-1', 'BUDGET-UNKNOWN-1'],
    'of writes count as spent until somebody says that they were not done',
    async () => {
      let isLost = true;
      const { tool, sent } = countedTool({ effect: 'write' }, ({ n }) => {
        if (isLost && n < 8) throw endsAs('ambiguous');
        return n;
      });
      for (const config of [{}, { creditsPerDay: 20 }]) {
        isLost = true;
        sent.length = 0;
        const workspace = await testWorkspace({ tools: [tool], files: configOf(config) });
        const { run, code } = await runPlay(workspace, ROWS, order(20));
        expect([code, sent.length, await creditsShown(workspace, run.id)]).toMatchObject([
          'OUT_OF_CREDITS',
          20,
          { settled: 12, unknown: 8 },
        ]);
        isLost = false;
        expect((await retryFailed(workspace, run.id)).code).toBe('OUT_OF_CREDITS');
        expect(sent.length).toBe(20);
        const [one, two] = (await errorsReport(reportSource(workspace), await existingRun(workspace, run.id))).inDoubt;
        const say = async (call = '', as: 'done' | 'notDone' = 'done') =>
          resolveOperation(workspace, await existingRun(workspace, run.id), { call, as, data: 1 });
        await say(one?.call, 'notDone');
        await say(two?.call, 'done');
        expect(await creditsShown(workspace, run.id)).toMatchObject({ settled: 12, unknown: 7 });
        if ('creditsPerDay' in config) {
          // Anybody's at once.
          const other = await runPlay(workspace, ROWS.replaceAll('({ n })', '({ n: 1_000 + n })'), order(20));
          expect([other.code, sent.length]).toEqual(['OUT_OF_CREDITS', 21]);
          continue;
        }
        expect((await retryFailed(workspace, run.id)).code).toBe('OUT_OF_CREDITS');
        // What was not done is, in its place or another's; what was done costs what it costs.
        expect([sent.length, await creditsShown(workspace, run.id)]).toMatchObject([21, { settled: 14, unknown: 6 }]);
      }
    },
  );

  verifies(['BUDGET-LOST-1', 'BUDGET-LEFT-1'], 'are unknown also where the next try is refused', async () => {
    for (const parts of [{}, KEYED]) {
      const { tool, sent } = countedTool({ maxTries: 2, ...parts }, () => {
        throw endsAs(sent.length === 1 ? 'ambiguous' : 'rejected');
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const { run } = await runPlay(workspace, ROWS, { input: { rows: 1 } });
      expect([sent.length, await creditsShown(workspace, run.id)]).toMatchObject([2, { settled: 0, unknown: 1 }]);
    }
  });

  verifies('BUDGET-LOST-1', 'of a batch count for all of its members', async () => {
    let asked = 0;
    const { tool, sent } = batchedTool({ maxSize: 4, maxTries: 3, ...KEYED }, async (inputs) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (++asked % 3 === 0) throw endsAs('ambiguous');
      return inputs.map(({ n }) => n);
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { code } = await runPlay(workspace, ROWS, order(42));
    expect(code).toBe('OUT_OF_CREDITS');
    const charged = new Map(sent.map(({ operationKey, inputs }) => [operationKey, inputs.length]));
    expect([...charged.values()].reduce((sum, size) => sum + size, 0)).toBe(42);
  });

  for (const [how, classify, used] of [
    ['of a status of 500 may have been charged', undefined, { settled: 12, unknown: 4, sent: 16 }],
    [
      'of a status of 500 were not where the tool says that nothing was done',
      ({ status }: { readonly status: number }) => (status === 500 ? ('rejected' as const) : undefined),
      { settled: 16, unknown: 0, sent: 22 },
    ],
  ] as const)
    verifies('BUDGET-LOST-1', how, async () => {
      let sent = 0;
      const { url } = await testProvider((response, { body }) => {
        const { n } = JSON.parse(body) as { n: number };
        sent++;
        json(response, n % 4 === 0 ? 500 : 200, { n });
      });
      const tool = defineTool<{ n: number }>({
        ...{ id: 'acme.find', effect: 'read', input: { type: 'object' }, cost: { credits: 1 }, maxTries: 1 },
        request: ({ input }) => ({ method: 'POST', url, body: input }),
        ...(classify === undefined ? {} : { classify }),
      });
      const workspace = await testWorkspace({ tools: [tool] });
      // One at a time, so that it is known which of them go out.
      const { run } = await runPlay(workspace, ROWS, { input: { rows: 24 }, maxCredits: 16, concurrency: 1 });
      const { settled, unknown } = await creditsShown(workspace, run.id);
      expect({ settled, unknown, sent }).toEqual(used);
    });
});
