import { describe, expect } from 'vitest';
import { runReport } from '../../src/report/index.ts';
import { existingRun, progressOf, reportSource } from '../../src/workspace/index.ts';
import { fastClock } from '../harness/crash.ts';
import { heldTool, ROWS, until } from '../harness/tools.ts';
import { queued, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

describe('what a run publishes of its accounts', () => {
  verifies('GOVERNOR-SHOWN-1', 'is what the governor decides with, while it runs', async () => {
    const { tool, sent, open } = heldTool(() => true, { limits: { concurrency: 1, rate: [{ calls: 50, per: '1s' }] } });
    const workspace = await testWorkspace({ tools: [tool], clock: fastClock(5) });
    const run = await queued(workspace, ROWS);
    const progress = await workspace.engine.start(run.id);
    const accounts = () => {
      const view = progress.view();
      return view === undefined ? [] : progressOf(view).accounts;
    };
    await until(() => sent.length === 1 && accounts()[0]?.waiting === 1);
    const limits = [{ calls: 50, perMs: 1_000 }];
    const account = { allowedRate: expect.any(Number), limits, inFlight: 1, concurrency: 1, deferred: 0 };
    const wait = { runId: run.id, waiting: 1, reason: 'concurrency', until: null };
    expect(accounts()).toMatchObject([{ ...account, runs: [wait] }]);
    let published = false;
    progress.hub.subscribe(({ type, data }) => {
      published ||= type === 'progress' && data?.includes('"reason":"concurrency"') === true;
    });
    await until(() => published);
    await workspace.committer.flush();
    const shown = async () => (await runReport(reportSource(workspace), await existingRun(workspace, run.id))).accounts;
    const calls = [{ calls: 1, reason: 'concurrency', until: null }];
    expect(await shown()).toMatchObject([{ ...account, account: accounts()[0]?.account, waits: calls }]);
    open();
    await progress.outcome;
    expect(await shown()).toEqual([]);
  });
});
