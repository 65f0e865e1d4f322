import { describe, expect } from 'vitest';
import { runReport } from '../../src/report/index.ts';
import { defineTool } from '../../src/sdk/index.ts';
import { existingRun, reportSource, resumeOptions, type Workspace } from '../../src/workspace/index.ts';
import { json, testProvider } from '../harness/provider.ts';
import { batchedTool, chargedFor, countedTool, endsAs, inputRows } from '../harness/tools.ts';
import { attempt, runPlay, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ROWS = inputRows(16);
const KEYED = { idempotency: { header: 'Idempotency-Key' } };
const order = (maxCredits: number) => ({ input: { rows: 200 }, maxCredits });

async function shown(workspace: Workspace, runId: string) {
  const { credits } = await runReport(reportSource(workspace), await existingRun(workspace, runId));
  return credits;
}

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
      const { settled, unknown } = await shown(workspace, run.id);
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
    expect(await shown(workspace, run.id)).toMatchObject({ settled: 15, unknown: 5 });
    isLost = false;
    await resumeOptions(workspace, await existingRun(workspace, run.id), { retryFailed: true });
    await attempt(workspace, run.id);
    expect(await shown(workspace, run.id)).toMatchObject({ settled: 20, unknown: 0 });
    expect(new Set(sent.map(({ operationKey }) => operationKey)).size).toBe(20);
  });

  verifies(['BUDGET-LOST-1', 'BUDGET-LEFT-1'], 'are unknown also where the next try is refused', async () => {
    for (const parts of [{}, KEYED]) {
      const { tool, sent } = countedTool({ maxTries: 2, ...parts }, () => {
        throw endsAs(sent.length === 1 ? 'ambiguous' : 'rejected');
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const { run } = await runPlay(workspace, ROWS, { input: { rows: 1 } });
      expect([sent.length, await shown(workspace, run.id)]).toMatchObject([2, { settled: 0, unknown: 1 }]);
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

  verifies('BUDGET-LOST-1', 'cost nothing where the provider says that it failed', async () => {
    const { url } = await testProvider((response, { body }) => {
      const { n } = JSON.parse(body) as { n: number };
      json(response, n % 5 === 0 ? 500 : 200, { n });
    });
    const tool = defineTool<{ n: number }>({
      ...{ id: 'acme.find', effect: 'read', input: { type: 'object' }, cost: { credits: 1 }, maxTries: 1 },
      request: ({ input }) => ({ method: 'POST', url, body: input }),
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { run, outcome } = await runPlay(workspace, ROWS, { input: { rows: 20 }, maxCredits: 16 });
    expect(outcome.kind).toBe('completed');
    expect(await shown(workspace, run.id)).toMatchObject({ settled: 16, unknown: 0 });
  });
});
