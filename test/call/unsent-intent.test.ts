import { expect } from 'vitest';
import { LocalEngine } from '../../src/engine/index.ts';
import type { Committer } from '../../src/store/index.ts';
import { countedTool } from '../harness/tools.ts';
import { attempt, openTest, queued, testFolder } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const SEND = `async (ctx) => (await ctx.tools.execute({ id: 'send', tool: 'acme.send', input: { to: 'ada' } })).data`;

verifies(
  'INTENT-UNSENT-1',
  'a write that was about to go out when its run was stopped is sent by the next attempt',
  async () => {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
    const workspace = await openTest(testFolder(), { tools: [tool] });
    const run = await queued(workspace, SEND);
    let interrupt = (): void => {};
    const committer: Committer = {
      ...workspace.committer,
      defer: (unit, settled) => workspace.committer.defer(unit, settled),
      flush: () => workspace.committer.flush(),
      commit: async (unit) => {
        await workspace.committer.commit(unit);
        // The intent is on disk, and the request not yet on its way.
        if (unit.some(({ kind }) => kind === 'operation')) interrupt();
      },
    };
    const calls = { ...workspace.deps.calls, committer };
    const progress = await new LocalEngine({ ...workspace.deps, committer, calls }).start(run.id);
    interrupt = () => progress.interrupt();
    expect((await progress.outcome).kind).toBe('interrupted');
    expect(sent).toHaveLength(0);
    const { outcome } = await attempt(workspace, run.id);
    expect([outcome.kind, sent.length]).toEqual(['completed', 1]);
  },
);
