import { describe, expect } from 'vitest';
import { defineTool, type Tool } from '../../src/sdk/index.ts';
import { laterClock } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool, endsAs, latch, until } from '../harness/tools.ts';
import { attempt, openTest, queued, runPlay, settled, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ANY = { type: 'object' };
const look = (options = '{}'): string =>
  `async (ctx) => (await ctx.tools.execute({ id: 'look', tool: 'acme.find', input: {}, ...${options} })).execution.source`;

describe('the age of receipts', () => {
  verifies('CALL-STALE-1', 'is measured at the start of the run, for a later attempt too', async () => {
    const { tool, sent } = countedTool();
    const gate = countedTool({ id: 'acme.wait', reuse: 'never' }, () => new Promise(() => {}));
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool, gate.tool] });
    expect((await runPlay(now, look())).result).toBe('live');
    // This run starts now, while the answer is young, and hangs; it asks the question only an hour later.
    const run = await queued(
      now,
      `async (ctx) => {
        if (ctx.run.attempt === 1) await ctx.tools.execute({ id: 'w', tool: 'acme.wait', input: {} });
        return (await ctx.tools.execute({ id: 'look', tool: 'acme.find', input: {}, staleAfterSeconds: 60 })).execution.source;
      }`,
    );
    void now.engine.start(run.id);
    await until(() => gate.sent.length === 1);
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    expect((await attempt(later, run.id)).result).toBe('receipt');
    // A run that starts an hour later finds it too old, and one that allows two hours does not.
    expect((await runPlay(later, look('{ staleAfterSeconds: 7200 }'))).result).toBe('receipt');
    expect((await runPlay(later, look('{ staleAfterSeconds: 60 }'))).result).toBe('live');
    expect(sent).toHaveLength(2);
  });

  verifies('CALL-STALE-1', 'a follower to whom the shared answer is too old asks for itself', async () => {
    const { tool, sent } = countedTool();
    const dir = testFolder();
    const now = await openTest(dir, { tools: [tool] });
    await runPlay(now, look());
    const later = await openTest(dir, { tools: [tool], clock: laterClock() });
    const { result } = await runPlay(
      later,
      `async (ctx) => {
        const ask = (options) => ctx.tools.execute({ id: 'look', tool: 'acme.find', input: {}, ...options });
        const calls = await Promise.all([ask({}), ask({ staleAfterSeconds: 60 })]);
        return calls.map((call) => call.execution.source);
      }`,
    );
    expect(result).toEqual(['receipt', 'live']);
    expect(sent).toHaveLength(2);
  });

  verifies(
    ['CALL-REFRESH-1', 'CALL-REFRESH-2'],
    'a refresh buys a newer receipt and leaves the older as it is',
    async () => {
      let price = 0;
      const { tool, sent } = countedTool({}, () => ({ price: ++price }));
      const workspace = await testWorkspace({ tools: [tool] });
      await runPlay(workspace, look());
      const [before] = await workspace.store.report.listReceipts({ limit: 10 });
      expect((await runPlay(workspace, look('{ refresh: true }'))).result).toBe('live');
      expect((await runPlay(workspace, look(), { refresh: 'all' })).result).toBe('live');
      expect((await runPlay(workspace, look(), { refresh: ['acme.find'] })).result).toBe('live');
      expect((await runPlay(workspace, look(), { refresh: ['acme.other'] })).result).toBe('receipt');
      expect(sent).toHaveLength(4);
      const receipts = await workspace.store.report.listReceipts({ limit: 10 });
      expect(receipts).toHaveLength(4);
      expect(receipts.find(({ id }) => id === before?.id)).toEqual(before);
      const { result } = await runPlay(
        workspace,
        `async (ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: {} })).data.price`,
      );
      expect(result).toBe(4);
    },
  );
});

describe('the same question asked at once', () => {
  verifies(['CALL-COALESCE-1', 'KEY-CALL-1'], 'is one operation, paid once, with an object for each', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const { result, run } = await runPlay(
      workspace,
      `async (ctx) => {
        const calls = await Promise.all(Array.from({ length: 200 }, () => ctx.tools.execute({ id: 'a', tool: 'acme.find', input: {} })));
        calls[0].data.got.mine = true;
        return {
          sources: calls.map((call) => call.execution.source),
          callIds: new Set(calls.map((call) => call.execution.callId)).size,
          spoiled: calls.filter((call) => call.data.got.mine).length,
        };
      }`,
    );
    expect(sent).toHaveLength(1);
    expect(result.sources).toEqual(['live', ...Array(199).fill('coalesced')]);
    expect(result.callIds).toBe(200);
    expect(result.spoiled).toBe(1);
    expect(await settled(workspace, run)).toBe(1);
  });

  verifies('CALL-COALESCE-1', 'a refusal is shared, too', async () => {
    const { tool, sent } = countedTool({}, () => {
      throw endsAs('rejected');
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => (await Promise.allSettled(['a', 'b', 'c'].map((id) => ctx.tools.execute({ id, tool: 'acme.find', input: {} }))))
        .map(({ reason }) => [reason.code, reason.operation])`,
    );
    expect(result).toEqual([
      ['TOOL_THREW', 'a'],
      ['TOOL_THREW', 'b'],
      ['TOOL_THREW', 'c'],
    ]);
    expect(sent).toHaveLength(1);
  });

  verifies('CALL-COALESCE-2', 'a leader that fails for itself leaves the question to the oldest follower', async () => {
    const first = latch();
    const { tool, sent } = countedTool({ maxTries: 1 }, async (_input) => {
      if (sent.length === 1) {
        await first.opened;
        throw endsAs('ambiguous');
      }
      return 'found';
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const running = runPlay(
      workspace,
      `async (ctx) => (await Promise.allSettled(['a', 'b', 'c'].map((id) => ctx.tools.execute({ id, tool: 'acme.find', input: {} }))))
        .map(({ reason, value }) => reason ? reason.code : value.execution.source)`,
    );
    await until(() => sent.length === 1);
    first.open();
    expect((await running).result).toEqual(['TOOL_THREW', 'live', 'coalesced']);
    expect(sent).toHaveLength(2);
  });

  verifies('CALL-COALESCE-2', 'a leader whose run is interrupted leaves it to a follower of another run', async () => {
    const { tool, sent } = countedTool({ limits: { rate: [{ calls: 1, per: '1s' }] } });
    const workspace = await testWorkspace({ tools: [tool] });
    const first = await queued(
      workspace,
      `async (ctx) => {
        await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { other: 1 } });
        return ctx.tools.execute({ id: 'x', tool: 'acme.find', input: { same: 1 } });
      }`,
    );
    const progress = await workspace.engine.start(first.id);
    // The second call leads the question and waits for its turn under the limit.
    await until(() => workspace.calls.governor.waits().length === 1);
    const follower = runPlay(
      workspace,
      `async (ctx) => (await ctx.tools.execute({ id: 'y', tool: 'acme.find', input: { same: 1 } })).execution.source`,
    );
    await until(() => sent.length === 1);
    await new Promise<void>((resolve) => setImmediate(resolve));
    progress.interrupt();
    expect((await progress.outcome).kind).toBe('interrupted');
    expect((await follower).result).toBe('live');
    expect(sent).toHaveLength(2);
  });
});

describe('a paid answer', () => {
  verifies('CALL-DURABLE-1', 'is on disk before the author sees it', async () => {
    const dir = testFolder();
    const { tool } = countedTool();
    const other = await openTest(dir);
    let seen = -1;
    const spy = countedTool({ id: 'acme.spy', reuse: 'never' }, async () => {
      seen = (await other.store.report.listReceipts({ limit: 10 })).filter((one) => one.tool === 'acme.find').length;
    });
    const workspace = await openTest(dir, { tools: [tool, spy.tool] });
    await runPlay(
      workspace,
      `async (ctx) => {
        await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: {} });
        await ctx.tools.execute({ id: 'b', tool: 'acme.spy', input: {} });
      }`,
    );
    expect(seen).toBe(1);
  });

  verifies(
    ['CALL-RAW-1', 'CALL-CONTRACT-1', 'CALL-CONTRACT-2'],
    'that the tool cannot read ends the run; mended and resumed it gives the right cells and buys nothing',
    async () => {
      const provider = await testProvider((response, { url }) => json(response, 200, { mail: `${url.slice(1)}@x.io` }));
      const toolWith = (response: (view: never) => never): Tool =>
        defineTool<{ name: string }>({
          id: 'acme.find',
          effect: 'read',
          input: ANY,
          cost: { credits: 1 },
          limits: { concurrency: 1 },
          request: ({ input }) => ({ url: `${provider.url}/${input.name}` }),
          response: response as never,
        });
      const wrong = toolWith((({ json: body }: { json: { email: { address: string } } }) => ({
        status: 'completed',
        data: body.email.address,
      })) as never);
      const right = toolWith((({ json: body }: { json: { mail: string } }) => ({
        status: 'completed',
        data: body.mail,
      })) as never);
      const dir = testFolder();
      const source = `async (ctx) => {
        const names = ['ada', 'bob', 'cyd', 'dan', 'ada'];
        const people = await ctx.dataset('people', names.map((name) => ({ name })))
          .withColumn('email', async (row, ctx) => {
            try { return (await ctx.tools.execute({ id: 'look', tool: 'acme.find', input: { name: row.name } })).data; }
            catch { return 'caught'; }
          })
          .run({ concurrency: 2 });
        return (await people.materialize()).map((row) => row.email);
      }`;
      const before = await openTest(dir, { tools: [wrong] });
      const broken = await runPlay(before, source);
      expect(broken.code).toBe('TOOL_CONTRACT');
      const error = JSON.parse(broken.run.error ?? '{}');
      expect(error.message).toMatch(/acme\.find cannot read its own answer \(response: TypeError/);
      expect(error.message).toMatch(/rcp_\d+/);
      expect(error.next.join()).toContain(`callsheet runs resume ${broken.run.id}`);
      // Held: the limit lets one request out at a time, so the second row's may have been on its way, no more.
      const bought = provider.requests.length;
      expect(bought).toBeLessThanOrEqual(2);
      await before.close();

      const after = await openTest(dir, { tools: [right] });
      const mended = await attempt(after, broken.run.id);
      expect(mended.result).toEqual(['ada@x.io', 'bob@x.io', 'cyd@x.io', 'dan@x.io', 'ada@x.io']);
      expect(provider.requests).toHaveLength(4);
      expect(await settled(after, mended.run)).toBe(4);
      const again = await runPlay(after, source);
      expect(again.result).toEqual(mended.result);
      expect(provider.requests).toHaveLength(4);
    },
  );

  verifies('CALL-RAW-1', 'a new run under a mended extract has right values and buys nothing', async () => {
    const dir = testFolder();
    const sent: number[] = [];
    const tool = (extract: string | (() => never)) => {
      const counted = countedTool({ extract: { email: extract } }, () => {
        sent.push(1);
        return { mail: 'ada@x.io' };
      });
      return counted.tool;
    };
    const source = `async (ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: {} })).values.email`;
    const thrower = (): never => {
      throw new Error('oops');
    };
    for (const [extract, expected] of [
      [thrower, 'TOOL_CONTRACT'],
      ['email', null],
      ['mail', 'ada@x.io'],
    ] as const) {
      const workspace = await openTest(dir, { tools: [tool(extract)] });
      const { result, code } = await runPlay(workspace, source);
      expect(code ?? result).toBe(expected);
      await workspace.close();
    }
    expect(sent).toHaveLength(1);
  });

  verifies(
    'CALL-CONTRACT-2',
    'continueOnContractError goes on, fails its rows only, and still counts what was paid',
    async () => {
      const { tool, sent } = countedTool({
        extract: {
          email: (data) => {
            if ((data as { got: { n: number } }).got.n === 1) throw new Error('odd answer');
            return 'fine';
          },
        },
      });
      const config = `import { defineConfig } from 'callsheet'; export default defineConfig({ continueOnContractError: true });`;
      const workspace = await testWorkspace({ tools: [tool], files: { 'callsheet.config.ts': config } });
      const { result, run } = await runPlay(
        workspace,
        `async (ctx) => {
        const rows = await ctx.dataset('rows', [{ n: 0 }, { n: 1 }, { n: 2 }])
          .withColumn('email', async (row, ctx) => (await ctx.tools.execute({ id: 'x', tool: 'acme.find', input: row })).values.email)
          .run();
        return (await rows.materialize()).map((row) => row.email ?? null);
      }`,
      );
      expect(result).toEqual(['fine', null, 'fine']);
      expect(sent).toHaveLength(3);
      expect(await settled(workspace, run)).toBe(3);
      const { failed } = await workspace.store.datasets.rowCounts(run.no, 1);
      expect(failed).toBe(1);
    },
  );
});
