import { describe, expect } from 'vitest';
import { defineTool } from '../../src/sdk/index.ts';
import type { NewSignal } from '../../src/store/index.ts';
import type { Workspace } from '../../src/workspace/index.ts';
import { attempt, runPlay, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests ask with whatever input they need
type Any = any;

async function signal(workspace: Workspace, more: Pick<NewSignal, 'runId' | 'event' | 'data'> & { rowKey?: string }) {
  const plain = { rowKey: null, waitNo: null, all: false, at: workspace.clock.now() };
  await workspace.committer.commit([{ kind: 'signal', signal: { ...plain, ...more } }]);
}

describe('the definition of an event tool', () => {
  const arm = () => ({ url: 'https://a.example' });
  const base = { id: 'acme.ask', effect: 'write', input: {} } as const;

  verifies('EVENT-TOOL-DEFINE-1', 'is refused where it contradicts itself', () => {
    const wrong: [Any, RegExp][] = [
      [{ event: null }, /must be an object/],
      [{ event: { on: 1 } }, /no option 'on'/],
      [{ event: { arm: 'x' } }, /`event.arm` must be a function/],
      [{ event: { arm: { request: arm, run: arm } } }, /`event.arm` must be/],
      [{ event: { onEvent: {} } }, /`event.onEvent` must be a function/],
      [{ event: { onTimeout: arm } }, /there is none/],
      [{ event: {}, run: arm }, /exactly one/],
      [{ event: {}, cost: { credits: 1 } }, /nothing is sent/],
      [{ event: { arm }, cost: { credits: () => 1, max: 1 } }, /is a number/],
      [{ event: { arm }, reuse: { scope: 'run' } }, /can only be 'never'/],
      [{ event: { arm }, reads: ['0'] }, /do not go together/],
      [{ event: {}, id: 'ask' }, /`provider` must be given/],
    ];
    for (const [parts, message] of wrong) expect(() => defineTool({ ...base, ...parts })).toThrow(message);
    expect(defineTool({ ...base, id: 'ask', provider: 'acme', event: { arm } }).id).toBe('ask');
  });

  verifies(
    'EVENT-TOOL-DEFINE-1',
    'is refused by the catalogue where name, timeout or mode cannot be used',
    async () => {
      for (const event of [{ name: 'a b' }, { timeout: 'soon' }, { mode: 'maybe' }])
        await expect(testWorkspace({ tools: [defineTool({ ...base, event } as Any)] })).rejects.toMatchObject({
          code: 'TOOL_DEFINITION_INVALID',
        });
    },
  );
});

describe('human_approval', () => {
  verifies('APPROVAL-1', 'sends nothing, says what it asks, and is answered by a signal for its row', async () => {
    const workspace = await testWorkspace();
    const source = `async (ctx) => {
      const rows = await ctx.dataset('rows', [{ n: 'a' }, { n: 'b' }])
        .withColumn('v', async (row, ctx) => (await ctx.tools.execute({ id: 'ok', tool: 'human_approval', input: { message: 'Send ' + row.n + '?' } })).data)
        .run({ key: 'n' });
      return (await rows.materialize()).map((row) => row.v);
    }`;
    const first = await runPlay(workspace, source);
    const asked = first.events.filter(({ type }) => type === 'approval.asked').map(({ message }) => message);
    expect([first.outcome.kind, asked.sort()]).toEqual(['suspended', ['Send a?', 'Send b?']]);
    const { id: runId } = first.run;
    await signal(workspace, { runId, event: 'human_approval', rowKey: 'b', data: '{"approved":false}' });
    const second = await attempt(workspace, runId);
    expect(second.events.filter(({ type }) => type === 'approval.asked')).toEqual([]);
    await signal(workspace, { runId, event: 'human_approval', rowKey: 'a', data: '{"approved":true}' });
    expect((await attempt(workspace, runId)).result).toEqual([{ approved: true }, { approved: false }]);
  });

  verifies('APPROVAL-2', 'says whether an answer is one of the choices', async () => {
    const answers: [string, Any][] = [
      ['"red"', { choice: 'red', valid: true }],
      ['{"choice":"blue","by":"Ada"}', { choice: 'blue', by: 'Ada', valid: true }],
      ['"green"', { choice: null, valid: false }],
      ['true', { choice: null, valid: false }],
    ];
    for (const [data, expected] of answers) {
      const workspace = await testWorkspace();
      const { run } = await runPlay(
        workspace,
        `async (ctx) => (await ctx.tool('pick', 'human_approval', { message: 'Which?', event: 'pick', choices: ['red', 'blue'] })).data`,
      );
      await signal(workspace, { runId: run.id, event: 'pick', data });
      expect((await attempt(workspace, run.id)).result).toEqual(expected);
    }
  });

  verifies('APPROVAL-1', 'is in every catalogue, unless the workspace has a tool of that id', async () => {
    const ids = (workspace: Workspace): string[] => workspace.catalogue.list().map(({ id }) => id);
    expect(ids(await testWorkspace())).toEqual(['human_approval', 'slack_message_with_hitl']);
    const own = defineTool<Any>({ id: 'human_approval', provider: 'acme', effect: 'read', input: {}, event: {} });
    const workspace = await testWorkspace({ tools: [own] });
    expect([ids(workspace).length, workspace.catalogue.get('human_approval').provider]).toEqual([2, 'acme']);
  });
});
