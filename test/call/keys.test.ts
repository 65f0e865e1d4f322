import { describe, expect } from 'vitest';
import { defineTool } from '../../src/sdk/index.ts';
import { crash, laterClock, zeroChance } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { attempt, openTest, putFile, queued, runPlay, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const LOOK = `async (ctx, input) =>
  (await ctx.tools.execute({ id: 'look', tool: 'acme.find', input: { q: input.q ?? 1 } })).execution.source`;

describe('what shares an answer', () => {
  verifies(['KEY-REUSE-1', 'CALL-RECEIPT-1'], 'runs and plays that ask the same question of a read', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    expect((await runPlay(workspace, LOOK)).result).toBe('live');
    expect((await runPlay(workspace, LOOK)).result).toBe('receipt');
    expect((await runPlay(workspace, LOOK, { name: 'another-play' })).result).toBe('receipt');
    expect((await runPlay(workspace, LOOK, { input: { q: 2 } })).result).toBe('live');
    expect(sent).toHaveLength(2);
  });

  verifies('KEY-REUSE-2', 'reuse narrows it to the play or to the run, and never forbids it', async () => {
    const byPlay = countedTool({ id: 'acme.play', reuse: { scope: 'play' } });
    const byRun = countedTool({ id: 'acme.run', reuse: { scope: 'run' } });
    const never = countedTool({ id: 'acme.never', reuse: 'never' });
    const workspace = await testWorkspace({ tools: [byPlay.tool, byRun.tool, never.tool] });
    const source = `async (ctx) => {
      const of = async (tool) => {
        const calls = await Promise.all(['a', 'b'].map((id) => ctx.tools.execute({ id, tool, input: {} })));
        return calls.map((call) => call.execution.source).join();
      };
      return [await of('acme.play'), await of('acme.run'), await of('acme.never')];
    }`;
    expect((await runPlay(workspace, source)).result).toEqual(['live,coalesced', 'live,coalesced', 'live,live']);
    expect((await runPlay(workspace, source)).result).toEqual(['receipt,coalesced', 'live,coalesced', 'live,live']);
    const other = await runPlay(workspace, source, { name: 'another-play' });
    expect(other.result).toEqual(['live,coalesced', 'live,coalesced', 'live,live']);
    expect([byPlay.sent.length, byRun.sent.length, never.sent.length]).toEqual([2, 3, 6]);
  });

  verifies('KEY-AUTH-1', 'a rotated secret of the same account, but not another account', async () => {
    const provider = await testProvider((response, request) =>
      json(response, 200, { by: request.headers.authorization }),
    );
    const tool = defineTool({
      id: 'acme.find',
      effect: 'read',
      input: { type: 'object' },
      secrets: ['ACME_KEY'],
      request: ({ secret }) => ({ url: provider.url, headers: { authorization: secret('ACME_KEY') } }),
    });
    const dir = testFolder();
    const run = async (key: string): Promise<unknown> => {
      const workspace = await openTest(dir, { tools: [tool], env: { ACME_KEY: key } });
      const { result } = await runPlay(workspace, LOOK);
      await workspace.close();
      return result;
    };
    expect(await run('first-secret')).toBe('live');
    expect(await run('second-secret')).toBe('receipt');
    putFile(
      dir,
      'callsheet.config.ts',
      `import { defineConfig } from 'callsheet'; export default defineConfig({ providers: { acme: { account: 'team-b' } } });`,
    );
    expect(await run('second-secret')).toBe('live');
    expect(provider.requests).toHaveLength(2);
  });

  verifies('KEY-VERSION-1', 'a version that the newer one lists in reads, and no other', async () => {
    const dir = testFolder();
    const run = async (parts: object): Promise<unknown> => {
      const workspace = await openTest(dir, { tools: [countedTool({ ...parts }).tool] });
      const { result } = await runPlay(workspace, LOOK);
      await workspace.close();
      return result;
    };
    expect(await run({ version: '1' })).toBe('live');
    expect(await run({ version: '2' })).toBe('live');
    expect(await run({ version: '3', reads: ['1'] })).toBe('receipt');
    expect(await run({ version: '4', reads: ['3'] })).toBe('live');
    expect(await run({ version: '4' })).toBe('receipt');
  });
});

describe('a write', () => {
  verifies('KEY-WRITE-1', 'is one for each call and run, and one when its run is resumed', async () => {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const source = `async (ctx) => {
      const send = (id) => ctx.tools.execute({ id, tool: 'acme.send', input: { to: 'ada' } });
      const [a, b] = await Promise.all([send('same'), send('same')]);
      const c = await send('other');
      return [a, b, c].map((call) => [call.execution.source, call.execution.callId, call.execution.receiptKey]);
    }`;
    const first = await runPlay(workspace, source);
    expect(sent).toHaveLength(3);
    expect(new Set(first.result.map(([, callId]: string[]) => callId)).size).toBe(3);
    expect(new Set(first.result.map(([, , receiptKey]: string[]) => receiptKey)).size).toBe(3);
    expect((await runPlay(workspace, source)).result.map(([how]: string[]) => how)).toEqual(['live', 'live', 'live']);
    expect(sent).toHaveLength(6);

    const run = await queued(workspace, source);
    await crash(workspace, run.id, (write) => write.kind === 'runState');
    expect(sent).toHaveLength(9);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const resumed = await attempt(later, run.id);
    expect(resumed.result).toHaveLength(3);
    expect(sent).toHaveLength(9);
  });

  verifies('KEY-WRITE-1', 'whose journal was lost with its process is not sent again either', async () => {
    const { tool, sent } = countedTool({ id: 'acme.send', effect: 'write' });
    const dir = testFolder();
    const workspace = await openTest(dir, { tools: [tool] });
    const run = await queued(
      workspace,
      `async (ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.send', input: { to: 'ada' } })).execution.credits`,
    );
    await crash(workspace, run.id, (write) => write.kind === 'call');
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    expect((await attempt(later, run.id)).result).toBe(1);
    expect(sent).toHaveLength(1);
    expect(await later.store.calls.settledCredits(run.no)).toBe(1);
  });
});

describe('the idempotency key', () => {
  verifies('KEY-OPERATION-1', 'of a shared read is that of the question, of a write that of the call', async () => {
    const provider = await testProvider((response) => json(response, 400, {}));
    const http = (id: string, effect: 'read' | 'write') =>
      defineTool({
        id,
        effect,
        input: { type: 'object' },
        idempotency: { header: 'Idempotency-Key' },
        maxTries: 1,
        request: () => ({ method: 'POST', url: provider.url, body: {} }),
      });
    const workspace = await testWorkspace({ tools: [http('acme.find', 'read'), http('acme.send', 'write')] });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => {
        for (const tool of ['acme.find', 'acme.send'])
          for (const id of ['a', 'b'])
            await ctx.tools.execute({ id, tool, input: {} }).catch(() => {});
        await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: {}, refresh: true }).catch(() => {});
        return ctx.run.id;
      }`,
    );
    const keys = provider.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(5);
    expect(keys[0]).toBe(keys[1]);
    expect(new Set(keys).size).toBe(4);
    expect(keys.every((key) => typeof key === 'string' && key.length > 20)).toBe(true);
    expect(result).toMatch(/^run_/);
  });

  verifies(
    ['KEY-OPERATION-2', 'RETRY-SAFE-1', 'RETRY-PROGRESS-1'],
    'changes after a deferral and stays after an ambiguous ending or one in progress',
    async () => {
      const endings = ['notDispatched', 'deferred', 'ambiguous', 'inProgress', 'inProgress', 'deferred'];
      const { tool, sent } = countedTool({ maxTries: 5 }, () => {
        const ending = endings.shift();
        if (ending !== undefined) throw endsAs(ending, { retryAfterMs: 0 });
        return 'done';
      });
      const workspace = await testWorkspace({ tools: [tool], chance: zeroChance() });
      const { result } = await runPlay(workspace, LOOK);
      expect(result).toBe('live');
      // Five tries in all, since waiting for a request in progress is not another try.
      expect(sent).toHaveLength(7);
      const keys = sent.map(({ operationKey }) => operationKey);
      expect(new Set(keys.slice(0, 2)).size).toBe(1);
      expect(new Set(keys.slice(2)).size).toBe(1);
      expect(keys[1]).not.toBe(keys[2]);
    },
  );
});
