import { describe, expect } from 'vitest';
import { defineTool } from '../../src/sdk/index.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool } from '../harness/tools.ts';
import { openTest, putFile, runPlay, settled, testFolder, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

const ANY = { type: 'object' };

describe('the forms of a call', () => {
  verifies('CTX-EXECUTE-1', 'a request object, positional arguments, ctx.tool, and force for refresh', async () => {
    const { tool, sent } = countedTool();
    const workspace = await testWorkspace({ tools: [tool] });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => {
        const calls = [
          await ctx.tools.execute({ id: 'a', tool: 'acme.find', input: { n: 1 }, receiptWaitMs: 5, description: 'one' }),
          await ctx.tools.execute('b', 'acme.find', { n: 1 }),
          await ctx.tool('c', 'acme.find', { n: 1 }, { description: 'two' }),
          await ctx.tools.execute({ id: 'd', tool: 'acme.find', input: { n: 1 }, force: true }),
          await ctx.tools.execute('e', 'acme.find', { n: 1 }, { refresh: true }),
          await ctx.tools.execute('f', 'acme.find', { n: 1 }, { staleAfterSeconds: 0 }),
        ];
        return calls.map((call) => [call.execution.source, call.data.got.n]);
      }`,
    );
    expect(result).toEqual([
      ['live', 1],
      ['receipt', 1],
      ['receipt', 1],
      ['live', 1],
      ['live', 1],
      ['live', 1],
    ]);
    expect(sent).toHaveLength(4);
  });

  verifies('TOOL-INPUT-1', 'what cannot be asked names call, tool and field, and nothing goes out', async () => {
    const input = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const { tool, sent } = countedTool({ input });
    const workspace = await testWorkspace({ tools: [tool] });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => {
        const of = async (...args) => {
          try { await ctx.tools.execute(...args); return 'went through'; }
          catch (error) { return [error.code, error.message, error.next.length > 0]; }
        };
        return {
          field: await of({ id: 'look', tool: 'acme.find', input: { n: 'x' } }),
          missing: await of({ id: 'look', tool: 'acme.find', input: {} }),
          noInput: await of({ id: 'look', tool: 'acme.find' }),
          noTool: await of({ id: 'look', input: { n: 1 } }),
          noLabel: await of({ id: ' ', tool: 'acme.find', input: { n: 1 } }),
          time: await of({ id: 'look', tool: 'acme.find', input: { n: 1 }, timeoutMs: 0 }),
          stale: await of('look', 'acme.find', { n: 1 }, { staleAfterSeconds: -1 }),
          text: await of('look'),
          notJson: await of({ id: 'look', tool: 'acme.find', input: { n: 1, more: [1n] } }),
        };
      }`,
    );
    expect(result.field[0]).toBe('TOOL_INPUT_INVALID');
    expect(result.field[1]).toMatch(/'look' of acme\.find.*n: /);
    expect(result.missing[1]).toMatch(/'look' of acme\.find.*n/);
    expect(result.notJson[0]).toBe('TOOL_INPUT_INVALID');
    expect(result.notJson[1]).toContain('more[0]');
    for (const name of ['noInput', 'noTool', 'noLabel', 'time', 'stale', 'text']) {
      expect([name, result[name][0]]).toEqual([name, 'CALL_REQUEST_INVALID']);
      expect(result[name][2]).toBe(true);
    }
    expect(sent).toEqual([]);
  });
});

describe('a result', () => {
  verifies(
    ['RESULT-SHAPE-1', 'TOOL-EXTRACT-1'],
    'has its answer in one place, and the accessors of the hosted product',
    async () => {
      const provider = await testProvider((response) =>
        json(response, 200, { email: 'ada@x.io', people: [{ n: 1 }, { n: 2 }] }, { 'x-request-id': 'r1' }),
      );
      const tool = defineTool({
        id: 'acme.find',
        version: '3',
        effect: 'read',
        input: ANY,
        cost: { credits: 2.5 },
        request: () => ({ url: provider.url }),
        response: ({ json: body }) => ({
          status: 'completed',
          data: { found: body },
          meta: { page: 1 },
          jobId: 'job-9',
        }),
        extract: { email: 'data.found.email', people: 'found.people', nobody: 'found.nobody' },
      });
      const workspace = await testWorkspace({ tools: [tool] });
      const { result, run } = await runPlay(
        workspace,
        `async (ctx) => {
          const r = await ctx.tools.execute({ id: 'look', tool: 'acme.find', input: {} });
          return {
            status: r.status, data: r.data, values: r.values, execution: r.execution,
            raw: r.toolResponse.raw, v2: r.toolResponse.rawV2, meta: r.toolResponse.meta, view: r.toolResponse.view,
            email: r.extractedValues.email.get(), nobody: r.extractedValues.nobody.get(),
            people: r.extractedLists.people.get(), none: r.extractedLists.nobody.get(), one: r.extractedLists.email.get(),
            job: r.job_id, ownMeta: r.meta, metadata: r._metadata,
            json: JSON.parse(JSON.stringify(r)),
          };
        }`,
      );
      const body = { email: 'ada@x.io', people: [{ n: 1 }, { n: 2 }] };
      expect(result).toMatchObject({
        status: 'completed',
        data: { found: body },
        values: { email: 'ada@x.io', people: body.people, nobody: null },
        raw: body,
        v2: { data: body, status: 200 },
        meta: { page: 1 },
        view: { found: body },
        email: 'ada@x.io',
        nobody: null,
        people: body.people,
        none: [],
        one: ['ada@x.io'],
        job: 'job-9',
        ownMeta: { page: 1 },
        metadata: { tool: 'acme.find', provider: 'acme', status: 'completed', source: 'live', credits: 2.5 },
        execution: { source: 'live', credits: 2.5, provider: 'acme' },
      });
      expect(result.execution.receiptId).toMatch(/^rcp_\d+$/);
      expect(Date.parse(result.execution.at)).toBeGreaterThan(0);
      expect(result.execution.callId).not.toBe(result.execution.receiptKey);
      expect(result.json).toEqual({
        status: 'completed',
        data: result.data,
        values: result.values,
        execution: result.execution,
      });
      expect(await settled(workspace, run)).toBe(2.5);
    },
  );

  verifies('RESULT-NORESULT-1', 'that says there is none is paid, recorded and shared like any other', async () => {
    const { tool, sent } = countedTool({ extract: { email: 'email' } }, () => null);
    const workspace = await testWorkspace({ tools: [tool] });
    const source = `async (ctx) => {
      const r = await ctx.tools.execute({ id: 'look', tool: 'acme.find', input: {} });
      return { status: r.status, data: r.data, email: r.values.email, source: r.execution.source, credits: r.execution.credits };
    }`;
    const first = await runPlay(workspace, source);
    expect(first.result).toEqual({ status: 'no_result', data: null, email: null, source: 'live', credits: 1 });
    expect(await settled(workspace, first.run)).toBe(1);
    const second = await runPlay(workspace, source);
    expect(second.result).toMatchObject({ status: 'no_result', source: 'receipt', credits: 0 });
    expect(sent).toHaveLength(1);
  });

  verifies('PLAY-RESULT-2', 'of a play is never cut short', async () => {
    const workspace = await testWorkspace();
    const { result, run } = await runPlay(
      workspace,
      `async () => ({ text: 'é'.repeat(3_000_000), list: Array.from({ length: 50_000 }, (_, n) => n) })`,
    );
    expect(result.text).toHaveLength(3_000_000);
    expect(result.list).toHaveLength(50_000);
    expect(JSON.parse(run.result ?? 'null')).toEqual(result);
  });
});

describe('reading an answer', () => {
  verifies('TOOL-READING-1', 'an unlisted 404 is refused, a listed one is no result', async () => {
    const provider = await testProvider((response, { url }) => {
      if (url === '/404') json(response, 404, { error: 'no such page' });
      else if (url === '/204') response.writeHead(204).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('plain text');
    });
    const http = (id: string, noResult?: number[]) =>
      defineTool<{ path: string }>({
        id,
        effect: 'read',
        input: ANY,
        request: ({ input }) => ({ url: provider.url + input.path }),
        ...(noResult && { noResult }),
      });
    const workspace = await testWorkspace({ tools: [http('acme.a'), http('acme.b', [404])] });
    const { result } = await runPlay(
      workspace,
      `async (ctx) => {
        const of = async (tool, path) => {
          try { const r = await ctx.tools.execute({ id: path, tool, input: { path } }); return [r.status, r.data]; }
          catch (error) { return [error.code, isProviderUnavailable(error)]; }
        };
        return [await of('acme.a', '/404'), await of('acme.b', '/404'), await of('acme.a', '/204'), await of('acme.a', '/text')];
      }`,
    );
    expect(result).toEqual([
      ['PROVIDER_NOT_FOUND', false],
      ['no_result', null],
      ['no_result', null],
      ['completed', 'plain text'],
    ]);
  });

  verifies(
    'CALL-OUTPUT-1',
    'that does not fit is a warning with the path; strict makes it a contract error',
    async () => {
      const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
      const lax = countedTool({ id: 'acme.lax', output }, () => ({ n: 'three' }));
      const strict = countedTool({ id: 'acme.strict', output, strict: true }, () => ({ n: 'three' }));
      const workspace = await testWorkspace({ tools: [lax.tool, strict.tool] });
      const first = await runPlay(
        workspace,
        `async (ctx) => (await ctx.tools.execute({ id: 'look', tool: 'acme.lax', input: {} })).data`,
      );
      expect(first.result).toEqual({ n: 'three' });
      const warnings = first.events.filter(({ type }) => type === 'call.output');
      expect(warnings).toHaveLength(1);
      expect(warnings[0]?.level).toBe('warn');
      expect(warnings[0]?.message).toMatch(/'look' of acme\.lax.*n: /);
      const second = await runPlay(
        workspace,
        `async (ctx) => (await ctx.tools.execute({ id: 'look', tool: 'acme.strict', input: {} })).data`,
      );
      expect(second.code).toBe('TOOL_CONTRACT');
      expect(strict.sent).toHaveLength(1);
    },
  );

  verifies('CALL-PENDING-1', 'an answer that is pending is kept, and asked for again by the next run', async () => {
    const provider = await testProvider((response, _request, number) => json(response, 200, { state: number }));
    const tool = defineTool({
      id: 'acme.job',
      effect: 'read',
      input: ANY,
      request: () => ({ url: provider.url }),
      response: ({ json: body }) => ({ status: body.state < 2 ? 'pending' : 'completed', data: body }),
    });
    const workspace = await testWorkspace({ tools: [tool] });
    const source = `async (ctx) => {
      const r = await ctx.tools.execute({ id: 'look', tool: 'acme.job', input: {} });
      return [r.data.state, r.execution.source];
    }`;
    expect((await runPlay(workspace, source)).result).toEqual([1, 'live']);
    expect((await runPlay(workspace, source)).result).toEqual([2, 'live']);
    expect((await runPlay(workspace, source)).result).toEqual([2, 'receipt']);
    expect(await workspace.store.report.listReceipts({ limit: 10 })).toHaveLength(2);
  });
});

describe('the catalogue of a workspace', () => {
  verifies(
    'TOOL-CATALOGUE-1',
    'has every exported tool of every file below tools/, and those of the config',
    async () => {
      const toolText = (id: string): string =>
        `defineTool({ id: '${id}', effect: 'read', input: { type: 'object' }, run: () => ({ by: '${id}' }) })`;
      const dir = testFolder({
        'callsheet.config.ts': `import { defineConfig, defineTool } from 'callsheet';
        export default defineConfig({ tools: [${toolText('cfg.one')}], providers: { file: { account: 'team-a' } } });`,
        'tools/a.ts': `import { defineTool } from 'callsheet';
        export const one = ${toolText('file.one')}; export const again = one; export default ${toolText('file.default')};
        export const notATool = { id: 'file.fake' };`,
        'tools/deep/er/b.mjs': `import { defineTool } from 'deepline'; export const two = ${toolText('file.two')};`,
        'tools/a.test.ts': `throw new Error('a test is no tool file');`,
        'tools/readme.md': 'no tools here',
      });
      const workspace = await openTest(dir);
      const ids = workspace.catalogue.list().map(({ id }) => id);
      expect(ids.toSorted()).toEqual([
        ...['cfg.one', 'file.default', 'file.one', 'file.two'],
        ...['human_approval', 'slack_message_with_hitl'],
      ]);
      expect(workspace.catalogue.get('file.two').account.name).toBe('team-a');
      const { result } = await runPlay(
        workspace,
        `async (ctx) => (await ctx.tools.execute({ id: 'x', tool: 'file.two', input: {} })).data.by`,
      );
      expect(result).toBe('file.two');
      putFile(
        dir,
        'tools/twice.ts',
        `import { defineTool } from 'callsheet'; export const x = ${toolText('cfg.one')};`,
      );
      await expect(openTest(dir)).rejects.toMatchObject({ code: 'TOOL_DEFINITION_INVALID' });
    },
  );
});
