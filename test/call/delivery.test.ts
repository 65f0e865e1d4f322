import { describe, expect } from 'vitest';
import { defineTool, type Effect } from '../../src/sdk/index.ts';
import { fastClock, zeroChance } from '../harness/crash.ts';
import { json, testProvider } from '../harness/provider.ts';
import { countedTool, endsAs } from '../harness/tools.ts';
import { runPlay, settled, testWorkspace } from '../harness/workspace.ts';
import { verifies } from '../requirements.ts';

interface Parts {
  readonly id?: string;
  readonly effect?: Effect;
  readonly maxTries?: number;
  readonly keyed?: boolean;
}

function httpTool(url: string, parts: Parts = {}) {
  const { id = 'acme.find', effect = 'read', keyed = false, ...more } = parts;
  return defineTool<{ path?: string }>({
    id,
    effect,
    input: { type: 'object' },
    cost: { credits: 1 },
    ...more,
    ...(keyed && { idempotency: { header: 'idempotency-key' } }),
    request: ({ input }) => ({ method: 'POST', url: `${url}${input.path ?? '/'}`, body: {} }),
  });
}

const CAUGHT = `async (ctx, input) => {
  const caught = [];
  for (const path of input.paths) {
    try {
      const r = await ctx.tools.execute({ id: path, tool: input.tool ?? 'acme.find', input: { path }, timeoutMs: path === '/hang' ? 200 : undefined });
      caught.push([path, r.status]);
    } catch (error) {
      caught.push([path, error.code, error.constructor.name, isProviderUnavailable(error), error.message, error.details, error.next]);
    }
  }
  return caught;
}`;

describe('what a provider refuses', () => {
  verifies(
    'DELIVER-ERRORS-1',
    'has a code of its own for each way of refusing, with call, tool and what was said',
    async () => {
      const provider = await testProvider((response, { url }) => {
        const status = Number(url.slice(1));
        if (Number.isInteger(status))
          return json(response, status, { error: `because ${status}` }, { 'x-request-id': 'req-7' });
        if (url === '/reset') return response.socket?.resetAndDestroy();
        if (url === '/hang') return undefined;
        if (url === '/truncated') {
          response.writeHead(200, { 'content-length': '100' });
          response.write('{"half":');
          return setImmediate(() => response.socket?.destroy());
        }
        return response.writeHead(200).end('<html>no json</html>');
      });
      const workspace = await testWorkspace({ tools: [httpTool(provider.url, { maxTries: 1 })] });
      const paths = [
        '400',
        '401',
        '402',
        '403',
        '404',
        '409',
        '422',
        '429',
        '500',
        'reset',
        'hang',
        'truncated',
        'html',
      ];
      const { result, run } = await runPlay(workspace, CAUGHT, { input: { paths: paths.map((path) => `/${path}`) } });
      const seen = Object.fromEntries(
        result.map(([path, code, kind, passes]: unknown[]) => [path, [code, kind, passes]]),
      );
      expect(seen).toEqual({
        '/400': ['PROVIDER_VALIDATION', 'ToolExecutionError', false],
        '/401': ['PROVIDER_AUTHENTICATION', 'ToolExecutionError', false],
        '/402': ['PROVIDER_BILLING', 'ToolExecutionError', true],
        '/403': ['PROVIDER_AUTHORIZATION', 'ToolExecutionError', false],
        '/404': ['PROVIDER_NOT_FOUND', 'ToolExecutionError', false],
        '/409': ['PROVIDER_CONFLICT', 'ToolExecutionError', false],
        '/422': ['PROVIDER_VALIDATION', 'ToolExecutionError', false],
        '/429': ['PROVIDER_RATE_LIMITED', 'ProviderTransientError', true],
        '/500': ['PROVIDER_UPSTREAM', 'ProviderTransientError', true],
        '/reset': ['PROVIDER_CONNECTION_LOST', 'ProviderTransientError', true],
        '/hang': ['PROVIDER_TIMEOUT', 'ProviderTransientError', true],
        '/truncated': ['PROVIDER_BAD_RESPONSE', 'ProviderTransientError', true],
        '/html': ['completed', undefined, undefined],
      });
      const [, , , , message, details, next] = result.find(([path]: string[]) => path === '/422');
      expect(message).toMatch(/'\/422' of acme\.find.*422/);
      expect(details).toMatchObject({ status: 422, body: '{"error":"because 422"}', tries: 1, tool: 'acme.find' });
      expect(next.length).toBeGreaterThan(0);
      expect(provider.requests).toHaveLength(paths.length);
      expect(await settled(workspace, run)).toBe(1);
    },
  );

  verifies('DELIVER-ERRORS-1', 'and one that nobody hears is unreachable, and tried again', async () => {
    const nowhere = await testProvider(() => {});
    const port = Number(new URL(nowhere.url).port);
    const workspace = await testWorkspace({
      tools: [httpTool(`http://127.0.0.1:${port === 1 ? 2 : 1}`, { maxTries: 3 })],
      chance: zeroChance(),
    });
    const { result } = await runPlay(workspace, CAUGHT, { input: { paths: ['/'] } });
    expect(result[0].slice(1, 4)).toEqual(['PROVIDER_UNREACHABLE', 'ProviderTransientError', true]);
    expect(result[0][5].tries).toBe(3);
  });

  verifies('RETRY-REJECTED-1', 'is asked once', async () => {
    const provider = await testProvider((response) => json(response, 422, {}));
    const workspace = await testWorkspace({ tools: [httpTool(provider.url)], chance: zeroChance() });
    await runPlay(workspace, CAUGHT, { input: { paths: ['/'] } });
    expect(provider.requests).toHaveLength(1);
  });

  verifies('DELIVER-LARGE-1', 'an answer of 30 MB goes through call, store and replay of another run', async () => {
    const body = JSON.stringify({ big: 'x'.repeat(30 * 1024 * 1024), last: 'here' });
    const provider = await testProvider((response) => response.writeHead(200).end(body));
    const workspace = await testWorkspace({ tools: [httpTool(provider.url)] });
    const source = `async (ctx) => {
      const { data, execution } = await ctx.tools.execute({ id: 'big', tool: 'acme.find', input: {} });
      return [data.big.length, data.last, execution.source];
    }`;
    expect((await runPlay(workspace, source)).result).toEqual([30 * 1024 * 1024, 'here', 'live']);
    expect((await runPlay(workspace, source)).result).toEqual([30 * 1024 * 1024, 'here', 'receipt']);
  });
});

describe('trying again', () => {
  verifies('RETRY-SAFE-1', 'after a 429 waits as long as the provider said, and no longer than its tries', async () => {
    const clock = fastClock(20);
    const at: number[] = [];
    const provider = await testProvider((response, { url }, number) => {
      at.push(clock.monotonic());
      if (url === '/always' || number === 1) json(response, 429, {}, { 'retry-after': '6' });
      else json(response, 200, { ok: true });
    });
    const workspace = await testWorkspace({
      tools: [httpTool(provider.url, { maxTries: 2 })],
      clock,
      chance: zeroChance(),
    });
    const { result } = await runPlay(workspace, CAUGHT, { input: { paths: ['/once', '/always'] } });
    expect(result[0]).toEqual(['/once', 'completed']);
    expect(result[1].slice(1, 3)).toEqual(['PROVIDER_RATE_LIMITED', 'ProviderTransientError']);
    expect(provider.requests.map(({ url }) => url)).toEqual(['/once', '/once', '/always', '/always']);
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(6000);
    expect((at[3] ?? 0) - (at[2] ?? 0)).toBeGreaterThanOrEqual(6000);
  });

  verifies('RETRY-SAFE-1', 'a function tool that is deferred waits for its time, too', async () => {
    const clock = fastClock(20);
    const at: number[] = [];
    const { tool } = countedTool({}, () => {
      at.push(clock.monotonic());
      if (at.length === 1) throw endsAs('deferred', { retryAfterMs: 6000 });
      return 'ok';
    });
    const workspace = await testWorkspace({ tools: [tool], clock, chance: zeroChance() });
    const { result } = await runPlay(workspace, CAUGHT, { input: { paths: ['x'] } });
    expect(result).toEqual([['x', 'completed']]);
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(6000);
  });

  verifies('RETRY-SAFE-1', 'a write that was certainly not done is tried again', async () => {
    const provider = await testProvider((response, _request, number) =>
      number === 1 ? json(response, 429, {}, { 'retry-after': '0' }) : json(response, 200, {}),
    );
    const workspace = await testWorkspace({
      tools: [httpTool(provider.url, { effect: 'write' })],
      chance: zeroChance(),
    });
    const { result } = await runPlay(workspace, CAUGHT, { input: { paths: ['/'] } });
    expect(result).toEqual([['/', 'completed']]);
    expect(provider.requests).toHaveLength(2);
  });

  verifies(
    'RETRY-WRITE-1',
    'an ambiguous write is in doubt and never sent again, unless it carries a key',
    async () => {
      const provider = await testProvider((response, { url }, number) => {
        if (url === '/keyed' && number > 2) json(response, 200, {});
        else json(response, 500, {});
      });
      const tools = [
        httpTool(provider.url, { id: 'acme.send', effect: 'write' }),
        httpTool(provider.url, { id: 'acme.safe', effect: 'write', keyed: true }),
      ];
      const workspace = await testWorkspace({ tools, chance: zeroChance() });
      const plain = await runPlay(workspace, CAUGHT, { input: { tool: 'acme.send', paths: ['/plain'] } });
      expect(plain.result[0].slice(1, 4)).toEqual(['IN_DOUBT', 'InDoubtError', false]);
      expect(provider.requests).toHaveLength(1);
      const keyed = await runPlay(workspace, CAUGHT, { input: { tool: 'acme.safe', paths: ['/keyed'] } });
      expect(keyed.result).toEqual([['/keyed', 'completed']]);
      const keys = provider.requests.slice(1).map(({ headers }) => headers['idempotency-key']);
      expect(keys).toHaveLength(2);
      expect(keys[0]).toBe(keys[1]);
    },
  );

  verifies('RETRY-PROGRESS-1', 'a conflict over our own key is waited for under the same key', async () => {
    const provider = await testProvider((response, _request, number) => json(response, number < 4 ? 409 : 200, {}));
    const workspace = await testWorkspace({
      tools: [httpTool(provider.url, { keyed: true, maxTries: 2 })],
      chance: zeroChance(),
    });
    const { result } = await runPlay(workspace, CAUGHT, { input: { paths: ['/'] } });
    expect(result).toEqual([['/', 'completed']]);
    expect(provider.requests).toHaveLength(4);
    expect(new Set(provider.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  });

  verifies('RETRY-PROGRESS-1', 'for ever at work ends as one that may have been done', async () => {
    const { tool, sent } = countedTool({ effect: 'write' }, () => {
      throw endsAs('inProgress');
    });
    const workspace = await testWorkspace({ tools: [tool], chance: zeroChance() });
    const { result } = await runPlay(workspace, CAUGHT, { input: { paths: ['x'] } });
    expect(result[0].slice(1, 3)).toEqual(['IN_DOUBT', 'InDoubtError']);
    expect(sent.length).toBeGreaterThan(10);
    expect(sent.length).toBeLessThan(100);
  });
});
