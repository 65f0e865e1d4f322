import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { verifies } from '../../test/requirements.ts';
import { defineTool, type ProviderConfig, type Tool } from '../sdk/index.ts';
import { buildCatalogue } from './catalogue.ts';
import { toolOf } from './conformance/operation.ts';

const run = (): null => null;

function tool(definition: Record<string, unknown>): Tool {
  return defineTool({ id: 'acme.find', effect: 'read', input: {}, run, ...definition } as never);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function account(tools: readonly Tool[], config?: ProviderConfig, mode: 'live' | 'fixture' = 'live') {
  const first = tools[0]?.id ?? '';
  return buildCatalogue({ tools, providers: config ? { acme: config } : {}, mode }).get(first).account;
}

describe('defaults', () => {
  verifies('TOOL-DEFAULTS-1', 'a bare tool gets provider, version, time-out, tries, cost and reuse', () => {
    expect(toolOf({ run })).toMatchObject({
      provider: 'acme',
      version: '1',
      versions: ['1'],
      timeoutMs: 60_000,
      maxTries: 5,
      maxCredits: 0,
      reuseScope: 'workspace',
      staleAfterSeconds: undefined,
      sendsIdempotencyKey: false,
      secrets: [],
      description: '',
      isFunction: true,
      account: { key: 'acme/default', name: 'default', mode: 'live', limits: {} },
    });
  });

  it.each([
    [{ credits: 3 }, 3],
    [{ credits: () => 1, max: 7 }, 7],
    [{ credits: 2, max: 4 }, 4],
  ])('the highest cost of %o is %i', (cost, most) => {
    expect(toolOf({ run, cost }).maxCredits).toBe(most);
  });

  it('lists its own version before the ones it reads, once', () => {
    expect(toolOf({ run, version: '3', reads: ['2', '3', '1'] }).versions).toEqual(['3', '2', '1']);
  });

  it("never reuses what is declared 'never'", () => {
    expect(toolOf({ run, reuse: 'never' })).toMatchObject({ reuseScope: 'never', staleAfterSeconds: undefined });
    expect(toolOf({ run, reuse: { scope: 'run', staleAfterSeconds: 9 } })).toMatchObject({
      reuseScope: 'run',
      staleAfterSeconds: 9,
    });
  });
});

describe('lookup', () => {
  const catalogue = buildCatalogue({
    tools: ['hunter.email_finder', 'prospeo.email_finder', 'hunter.domain_search'].map((id) => tool({ id })),
  });

  verifies('TOOL-UNKNOWN-1', 'an unknown tool is refused with the nearest names and the command that lists all', () => {
    expect(() => catalogue.get('hunter.email_findr')).toThrow(
      expect.objectContaining({
        code: 'TOOL_NOT_FOUND',
        message: expect.stringContaining('hunter.email_finder'),
        next: ['callsheet tools list'],
      }),
    );
    expect(() => catalogue.get('email_finder')).toThrow(/hunter\.email_finder or prospeo\.email_finder/);
    expect(() => catalogue.get('zzz')).toThrow(/^There is no tool 'zzz' in this workspace\.$/);
  });

  it('lists tools in the order of their ids', () => {
    expect(catalogue.list().map(({ id }) => id)).toEqual([
      'hunter.domain_search',
      'hunter.email_finder',
      'prospeo.email_finder',
    ]);
    expect(catalogue.has('hunter.email_finder')).toBe(true);
    expect(catalogue.has('toString')).toBe(false);
  });

  it('shares one account object between the tools of a provider', () => {
    expect(catalogue.get('hunter.email_finder').account).toBe(catalogue.get('hunter.domain_search').account);
    expect(catalogue.get('hunter.email_finder').account).not.toBe(catalogue.get('prospeo.email_finder').account);
  });
});

describe('definitions that cannot work', () => {
  it.each([
    ['version', { version: '' }],
    ['provider', { provider: 'two words' }],
    ['reads', { reads: '0' }],
    ['secrets', { secrets: ['hunter-key'] }],
    ['idempotency.header', { idempotency: { header: 'Idempotency Key' } }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: Number.NaN }],
    ['maxTries', { maxTries: 1.5 }],
    ['noResult', { run: undefined, request: () => ({ url: '' }), noResult: [40] }],
    ['reuse', { reuse: 'always' }],
    ['reuse.scope', { reuse: { scope: 'world' } }],
    ['reuse.staleAfterSeconds', { reuse: { staleAfterSeconds: -1 } }],
    ['cost.credits', { cost: { credits: -1 } }],
    ['cost.max', { cost: { credits: 5, max: 4 } }],
    ['cost.max', { cost: { credits: () => 5, max: Number.POSITIVE_INFINITY } }],
    ['cost.per', { cost: { credits: 5, per: 'row' } }],
    ['limits`.concurrency', { limits: { concurrency: 0 } }],
    ['limits`.rate', { limits: { rate: { calls: 1 } } }],
    ['limits`.rate[0].calls', { limits: { rate: [{ calls: 0, per: '1s' }] } }],
    [
      'limits`.rate[1].per',
      {
        limits: {
          rate: [
            { calls: 1, per: '1s' },
            { calls: 1, per: 'soon' },
          ],
        },
      },
    ],
  ])('a wrong `%s` is named', (field, definition) => {
    const refused = expect.objectContaining({
      code: 'TOOL_DEFINITION_INVALID',
      message: expect.stringContaining(`Tool acme.find: \`${field}`),
    });
    expect(() => buildCatalogue({ tools: [tool(definition)] })).toThrow(refused);
  });

  verifies('TOOL-NAMES-1', 'a name that nothing reads is refused, in each part, with the nearest one', () => {
    const rate = { calls: 5, per: '1s' };
    const sent = { run: undefined, effect: 'write' };
    const wrong: readonly (readonly [part: string, told: string, definition: Record<string, unknown>])[] = [
      ['limits`', "'rates' (there is: rate, concurrency) Did you mean 'rate'", { limits: { rates: [rate] } }],
      ['limits`.rate[1]', "'smoth'", { limits: { rate: [rate, { ...rate, smoth: true }] } }],
      ['limits`', 'must be an object', { limits: [rate] }],
      ['limits`.rate[0]', 'must be an object', { limits: { rate: [null] } }],
      ['limits`.rate[0].smooth', 'true or false', { limits: { rate: [{ ...rate, smooth: 'yes' }] } }],
      ['cost`', "'credit'", { cost: { credit: 1, credits: 2 } }],
      ['cost`', 'must be an object', { cost: 3 }],
      ['reuse`', "'staleAfter'", { reuse: { staleAfter: 60 } }],
      ['idempotency`', "'heeder'", { idempotency: { header: 'Idempotency-Key', heeder: 'x' } }],
      ['extract`', 'must be an object', { extract: 'data.email' }],
      ['extract.email`', 'must be a path', { extract: { email: { path: 'data.email' } } }],
      ['event.arm`', "'respond'", { ...sent, event: { arm: { request: run, respond: run } } }],
      ['event.onTimeout`', "'classify'", { ...sent, event: { arm: run, onTimeout: { run, classify: run } } }],
    ];
    for (const [part, told, definition] of wrong)
      expect(() => buildCatalogue({ tools: [tool(definition)] }), JSON.stringify(definition)).toThrow(
        expect.objectContaining({
          code: 'TOOL_DEFINITION_INVALID',
          message: expect.stringMatching(new RegExp(`^Tool acme.find: ${escaped(`\`${part}`)}.*${escaped(told)}`)),
        }),
      );
    const configs: readonly (readonly [field: string, config: unknown])[] = [
      ["providers.acme has no option 'limit' ", { limit: { rate: [rate] } }],
      ["providers.acme.limits has no option 'rates' ", { limits: { rates: [rate] } }],
      ["providers.acme.limits.rate[0] has no option 'every' ", { limits: { rate: [{ ...rate, every: '1s' }] } }],
    ];
    for (const [message, config] of configs)
      expect(() => account([tool({})], config as ProviderConfig)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
      );
  });

  it('two tools of one id are refused', () => {
    expect(() => buildCatalogue({ tools: [tool({}), tool({})] })).toThrow(
      expect.objectContaining({ code: 'TOOL_DEFINITION_INVALID', message: expect.stringContaining('acme.find') }),
    );
  });

  it('a value that is no tool is named by its place', () => {
    expect(() => buildCatalogue({ tools: [tool({}), { id: 'acme.x' } as never] })).toThrow(/tools\[1\] is not a tool/);
  });

  it('an effect that is none, or that throws, names the tool', () => {
    expect(() => toolOf({ run, effect: () => 'maybe' as never }).effectOf({})).toThrow(
      /acme\.find: `effect` returned maybe/,
    );
    const throwing = (): never => {
      throw new Error('boom');
    };
    expect(() => toolOf({ run, effect: throwing }).effectOf({})).toThrow(/acme\.find: `effect` threw: boom/);
    expect(
      toolOf({ run, effect: (input: { send?: boolean }) => (input.send ? 'write' : 'read') }).effectOf({
        send: true,
      }),
    ).toBe('write');
  });
});

describe('schemas', () => {
  verifies('TOOL-SCHEMAS-1', 'a Standard Schema and a JSON Schema check input and output', () => {
    const standard = toolOf({ run, input: z.object({ domain: z.string() }), output: z.object({ email: z.string() }) });
    expect(standard.validateInput({ domain: 'a.example', extra: 1 })).toEqual({
      ok: true,
      value: { domain: 'a.example' },
    });
    expect(standard.validateInput({})).toMatchObject({ ok: false, issues: [{ path: 'domain' }] });
    expect(standard.validateOutput({ email: 1 })).toMatchObject({ ok: false, issues: [{ path: 'email' }] });
    const schema = { type: 'object', required: ['domain'], properties: { domain: { type: 'string' } } };
    const json = toolOf({ run, input: schema });
    expect(json.validateInput({ domain: 'a.example' })).toEqual({ ok: true, value: { domain: 'a.example' } });
    expect(json.validateInput({ domain: 4 })).toMatchObject({ ok: false, issues: [{ path: 'domain' }] });
    expect(json.validateOutput({})).toBeUndefined();
  });

  it('a schema that cannot be used is a fault of the definition, found ahead or at the first call', async () => {
    const tools = [tool({ input: { type: 'nonsense' } })];
    const refused = expect.objectContaining({
      code: 'TOOL_DEFINITION_INVALID',
      message: expect.stringContaining('acme.find: `input` cannot be used'),
    });
    await expect(buildCatalogue({ tools }).prepare()).rejects.toEqual(refused);
    expect(() => buildCatalogue({ tools }).get('acme.find').validateInput({})).toThrow(refused);
    await expect(buildCatalogue({ tools: [tool({ output: { type: 'object' } })] }).prepare()).resolves.toBeUndefined();
  });
});

describe('limits of an account', () => {
  const paced = (id: string, calls: number, per: string, concurrency?: number): Tool =>
    tool({ id, limits: { rate: [{ calls, per }], ...(concurrency ? { concurrency } : {}) } });

  verifies('PACE-ACCOUNT-1', 'all windows of its tools hold; of two for one window the stricter', () => {
    const limits = account([
      paced('acme.a', 10, '1s', 8),
      paced('acme.b', 5, '1000ms', 12),
      paced('acme.c', 900, '1h'),
      tool({ id: 'acme.d' }),
    ]).limits;
    expect(limits).toEqual({
      rate: [
        { calls: 5, per: '1s' },
        { calls: 900, per: '1h' },
      ],
      concurrency: 8,
    });
  });

  it('keeps even spacing if one of the tools asks for it', () => {
    const smooth = tool({ id: 'acme.b', limits: { rate: [{ calls: 20, per: '1s', smooth: true }] } });
    expect(account([paced('acme.a', 10, '1s'), smooth]).limits.rate).toEqual([{ calls: 10, per: '1s', smooth: true }]);
  });

  it('the config takes the place of a field that it sets, and only of that', () => {
    const tools = [paced('acme.a', 10, '1s', 8)];
    expect(account(tools, { limits: { concurrency: 40 } }).limits).toEqual({
      rate: [{ calls: 10, per: '1s' }],
      concurrency: 40,
    });
    expect(account(tools, { limits: { rate: [] } }).limits).toEqual({ concurrency: 8 });
  });

  it.each([
    ['providers.acme.limits.concurrency', { limits: { concurrency: 0 } }],
    ['providers.acme.account', { account: ' ' }],
    ['providers.acme.mode', { mode: 'test' as never }],
    ['providers.acme.baseUrl', { baseUrl: 'api.example.com' }],
    ['providers.acme.baseUrl', { baseUrl: 'ftp://api.example.com' }],
    ['providers.acme.baseUrl', { baseUrl: 'https://api.example.com?key=1' }],
    ['providers.acme.baseUrl', { baseUrl: 'https://user:pass@api.example.com' }],
  ])('a wrong %s in the config is named', (field, config) => {
    expect(() => account([tool({})], config)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(field) }),
    );
  });
});

describe('who pays and answers', () => {
  const scope = (config?: ProviderConfig, mode?: 'live' | 'fixture') => account([tool({})], config, mode).authScope;

  verifies('KEY-AUTH-2', 'another account, base URL, the sandbox or fixtures are another scope', () => {
    const scopes = [
      scope(),
      scope({ account: 'team-a' }),
      scope({ baseUrl: 'https://eu.example.com' }),
      scope({ mode: 'sandbox' }),
      scope({}, 'fixture'),
    ];
    expect(new Set(scopes).size).toBe(scopes.length);
  });

  it('a slash at the end, or another port of the sandbox, is the same account', () => {
    expect(scope({ baseUrl: 'https://eu.example.com/v1/' })).toBe(scope({ baseUrl: 'https://EU.example.com/v1' }));
    expect(scope({ mode: 'sandbox', baseUrl: 'http://127.0.0.1:1' })).toBe(scope({ mode: 'sandbox' }));
    expect(scope({ mode: 'sandbox' }, 'fixture')).toBe(scope({}, 'fixture'));
  });

  it('shows the mode in its name unless it is live', () => {
    expect(account([tool({})], { account: 'a' }).key).toBe('acme/a');
    expect(account([tool({})], { mode: 'sandbox' }).key).toBe('acme/default:sandbox');
    expect(account([tool({})], {}, 'fixture').key).toBe('acme/default:fixture');
  });
});

describe('digest of a definition', () => {
  const digest = (definition: Record<string, unknown>) =>
    buildCatalogue({ tools: [tool(definition)] }).get('acme.find').digest;

  it('is the same for the same definition, and another for another function, schema or field', () => {
    const base = { input: z.object({ a: z.string() }), extract: { email: 'data.email' } };
    expect(digest(base)).toBe(digest({ extract: { email: 'data.email' }, input: z.object({ a: z.string() }) }));
    const others = [
      { ...base, input: z.object({ a: z.number() }) },
      { ...base, extract: { email: 'data.mail' } },
      { ...base, run: () => 1 },
      { ...base, output: { type: 'object' } },
    ];
    expect(new Set([base, ...others].map(digest)).size).toBe(5);
  });
});
