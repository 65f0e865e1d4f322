import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { CallsheetError, type HttpRequestSpec, type ProviderConfig } from '../sdk/index.ts';
import { answerText } from './body-text.ts';
import { operationOf, toolOf } from './conformance/operation.ts';
import { type TestRequest, webServer } from './conformance/server.ts';
import { httpTransport } from './http-transport.ts';
import type { Delivered, Failure } from './port.ts';

const SECRET = 'sk/live+0123456789==';
const readSecret = (name: string): string | undefined => (name === 'KEY' ? SECRET : undefined);
const transport = httpTransport({ readSecret });

type Request = (args: {
  input: unknown;
  secret: (name: string) => string;
  baseUrl: string | undefined;
}) => HttpRequestSpec;

function send(
  request: Request,
  definition: Record<string, unknown> = {},
  config: ProviderConfig = {},
): Promise<Delivered> {
  return transport.send(operationOf(toolOf({ request, secrets: ['KEY'], ...definition }, config)));
}

/** What a server saw of one request. */
async function sent(
  spec: (url: string) => HttpRequestSpec,
  definition: Record<string, unknown> = {},
): Promise<TestRequest> {
  const { url, requests } = await webServer((response) => response.end('{}'));
  expect(await send(() => spec(url), definition)).toMatchObject({ ending: 'answered' });
  const [request] = requests;
  if (request === undefined) throw new Error('no request arrived');
  return request;
}

describe('what goes out', () => {
  verifies('TOOL-BODY-1', 'a body that is neither string nor bytes goes out as JSON', async () => {
    const body = (value: unknown, headers = {}) => sent((url) => ({ url, method: 'post', body: value, headers }));
    expect(await body({ a: [1, 'é'] })).toMatchObject({
      method: 'POST',
      body: Buffer.from('{"a":[1,"é"]}'),
      headers: { 'content-type': 'application/json', 'content-length': '14' },
    });
    expect((await body([1])).body.toString()).toBe('[1]');
    expect((await body(false)).body.toString()).toBe('false');
    expect(await body({}, { 'Content-Type': 'application/vnd.x+json' })).toMatchObject({
      headers: { 'content-type': 'application/vnd.x+json' },
    });
    const text = await body('plain');
    expect([text.body.toString(), text.headers['content-type']]).toEqual(['plain', undefined]);
    expect((await body(new Uint8Array([0, 255]))).body).toEqual(Buffer.from([0, 255]));
    expect(await body(new URLSearchParams({ a: 'b c' }))).toMatchObject({
      body: Buffer.from('a=b+c'),
      headers: { 'content-type': expect.stringContaining('application/x-www-form-urlencoded') },
    });
    for (const none of [undefined, null]) expect((await body(none)).body).toHaveLength(0);
  });

  it('the query is appended and encoded; null and undefined are left out', async () => {
    const query = { q: 'a b&c=é', n: 0, yes: false, none: null, undef: undefined };
    expect((await sent((url) => ({ url: `${url}/s?fixed=1`, query }))).url).toBe(
      '/s?fixed=1&q=a%20b%26c%3D%C3%A9&n=0&yes=false',
    );
    expect((await sent((url) => ({ url: `${url}/s#part`, query: { a: 1 } }))).url).toBe('/s?a=1');
    expect((await sent((url) => ({ url: `${url}/s`, query: {} }))).url).toBe('/s');
  });

  it('headers of undefined are left out; a user agent is sent unless the tool has its own', async () => {
    const headers = { 'X-One': '1', 'X-None': undefined };
    const request = await sent((url) => ({ url, headers }));
    expect(request).toMatchObject({ method: 'GET', headers: { 'x-one': '1', 'user-agent': 'callsheet' } });
    expect(request.headers).not.toHaveProperty('x-none');
    expect(await sent((url) => ({ url, headers: { 'User-Agent': 'mine' } }))).toMatchObject({
      headers: { 'user-agent': 'mine' },
    });
  });

  it('the operation key goes out in the header that the tool declares, and only then', async () => {
    const idempotency = { header: 'X-Idem' };
    expect((await sent((url) => ({ url, headers: { 'x-idem': 'own' } }), { idempotency })).headers['x-idem']).toBe(
      'operation-key-1',
    );
    expect((await sent((url) => ({ url }))).headers).not.toHaveProperty('x-idem');
  });
});

describe('where it goes', () => {
  it.each<[string, string, string]>([
    ['/v2/find', '', '/v2/find'],
    ['v2/find', '', '/v2/find'],
    ['/v2/find', '/proxy/acme', '/proxy/acme/v2/find'],
    ['/v2/find', '/proxy/acme/', '/proxy/acme/v2/find'],
    ['?q=1', '/proxy', '/proxy?q=1'],
    ['https://api.acme.example/v2/find?q=1', '', '/v2/find?q=1'],
    ['https://api.acme.example/v2/find', '/proxy/acme', '/proxy/acme/v2/find'],
  ])('%s with a base URL of …%s is asked at %s', async (url, base, path) => {
    const server = await webServer((response) => response.end('{}'));
    await send(() => ({ url }), {}, { baseUrl: `${server.url}${base}` });
    expect(server.requests.map((request) => request.url)).toEqual([path]);
  });

  it('a URL that the tool built upon its base URL is not moved twice', async () => {
    const server = await webServer((response) => response.end('{}'));
    await send(({ baseUrl }) => ({ url: `${baseUrl}/v2/find` }), {}, { baseUrl: `${server.url}/proxy` });
    expect(server.requests.map((request) => request.url)).toEqual(['/proxy/v2/find']);
  });

  it('in mode sandbox everything goes to the folder of the provider there', async () => {
    const server = await webServer((response) => response.end('{}'));
    const sandboxed = httpTransport({ readSecret, sandboxUrl: `${server.url}/` });
    const config = { mode: 'sandbox', baseUrl: 'https://eu.acme.example/x' } as const;
    for (const url of ['https://api.acme.example/v2/find', '/v2/find']) {
      await sandboxed.send(operationOf(toolOf({ request: () => ({ url }) }, config)));
    }
    expect(server.requests.map((request) => request.url)).toEqual(['/acme/v2/find', '/acme/v2/find']);
  });

  it('mode sandbox without a sandbox says how to start one', async () => {
    expect(await send(() => ({ url: '/x' }), {}, { mode: 'sandbox' })).toMatchObject({
      ending: 'rejected',
      error: { code: 'CONFIG_INVALID', next: expect.arrayContaining(['callsheet sandbox']) },
    });
  });
});

describe('requests that cannot be sent', () => {
  const base = { baseUrl: 'https://api.acme.example/v2' };
  it.each<[string, unknown, ProviderConfig]>([
    ['nothing', undefined, {}],
    ['a promise', Promise.resolve({ url: 'https://a.example' }), {}],
    ['no url', {}, {}],
    ['a path without a base URL', { url: '/v2/find' }, {}],
    ['a URL without a scheme', { url: '//api.acme.example/x' }, base],
    ['a path out of the base URL', { url: '/../admin' }, base],
    ['a URL that is none', { url: 'https://' }, {}],
    ['another scheme', { url: 'file:///etc/passwd' }, {}],
    ['a password in the URL', { url: 'https://user:pass@a.example/' }, {}],
    ['a query parameter that is a list', { url: 'https://a.example', query: { a: [1] } }, {}],
    ['a header that is a list', { url: 'https://a.example', headers: { a: ['b'] } }, {}],
    ['a header with a line break', { url: 'https://a.example', headers: { a: 'b\r\nc: d' } }, {}],
    ['a header name with a space', { url: 'https://a.example', headers: { 'a b': 'c' } }, {}],
    ['a method with a space', { url: 'https://a.example', method: 'GET /x' }, {}],
    ['a cyclic body', { url: 'https://a.example', method: 'POST', body: cycle() }, {}],
    ['a function as body', { url: 'https://a.example', method: 'POST', body: () => 1 }, {}],
    ['a form with files as body', { url: 'https://a.example', method: 'POST', body: new FormData() }, {}],
    [
      'a wrong content-length',
      { url: 'http://127.0.0.1:1', method: 'POST', body: 'abc', headers: { 'content-length': 'x' } },
      {},
    ],
  ])('%s is refused once and for all', async (_name, spec, config) => {
    expect(await send(() => spec as HttpRequestSpec, {}, config)).toMatchObject({
      ending: 'rejected',
      error: { code: 'TOOL_DEFINITION_INVALID', message: expect.stringContaining('Tool acme.find: `request`') },
    });
  });

  function cycle(): unknown {
    const value: Record<string, unknown> = {};
    value.self = value;
    return value;
  }

  it('what request throws is said with the place in the code, without secrets', async () => {
    const failed = (await send(({ secret }) => {
      throw new TypeError(`bad key ${secret('KEY')}`);
    })) as Failure;
    expect(failed).toMatchObject({
      ending: 'rejected',
      message: '`request` of tool acme.find threw: bad key [secret KEY]',
      error: {
        code: 'TOOL_THREW',
        details: { tool: 'acme.find', at: expect.stringContaining('http-requests.test.ts') },
      },
    });
    const own = (await send(({ secret }) => {
      throw new CallsheetError('USAGE', `own ${secret('KEY')}`, {
        details: { key: secret('KEY') },
        cause: secret('KEY'),
      });
    })) as Failure;
    expect(own.error).toMatchObject({ code: 'USAGE', message: 'own [secret KEY]' });
    expect(JSON.stringify([own, own.error?.stack, own.error?.cause])).not.toContain(SECRET);
  });
});

describe('secrets stay inside', () => {
  const echoes = {
    plain: SECRET,
    json: JSON.stringify({ key: SECRET }),
    url: `https://a.example/?key=${encodeURIComponent(SECRET)}`,
    basic: Buffer.from(`${SECRET}:`).toString('base64'),
  };
  const request =
    (url: string): Request =>
    ({ secret }) => ({ url, query: { key: secret('KEY') }, headers: { authorization: `Bearer ${secret('KEY')}` } });

  verifies('SECRET-GREP-1', 'an answer or a refusal that echoes the key in any spelling is redacted', async () => {
    for (const status of [200, 400, 500, 302]) {
      for (const echo of Object.values(echoes)) {
        const { url, requests } = await webServer((response) => {
          response
            .writeHead(status, { 'x-request-id': echo, location: echo, 'content-type': 'text/plain' })
            .end(`said ${echo} twice ${echo}`);
        });
        const delivered = await send(request(url));
        expect(requests[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
        const text = JSON.stringify(delivered);
        expect(text).toContain('[secret KEY]');
        for (const spelling of [
          SECRET,
          encodeURIComponent(SECRET),
          Buffer.from(SECRET).toString('base64').slice(0, 20),
        ])
          expect(text).not.toContain(spelling);
      }
    }
  });

  it('a key in the path is not in the message of a connection that failed', async () => {
    const failed = await send(({ secret }) => ({
      url: `http://127.0.0.1:1/bot${encodeURIComponent(secret('KEY'))}/send`,
    }));
    expect(failed).toMatchObject({
      ending: 'notDispatched',
      message: expect.stringContaining('/bot[secret KEY]/send'),
    });
  });

  it('a secret that ends behind the excerpt of a refusal is redacted all the same', async () => {
    const body = `${'x'.repeat(1_990)}${SECRET}`;
    const { url } = await webServer((response) => response.writeHead(400).end(body));
    const failed = (await send(request(url))) as Failure;
    expect(failed.bodyText).toBe(`${'x'.repeat(1_990)}[secret KE`);
  });

  it('bytes that are no text are kept as they are, but for the secret', async () => {
    const { url } = await webServer((response) =>
      response.end(Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.from(SECRET)])),
    );
    const raw = ((await send(request(url))) as { raw: { body: string; encoding: string } }).raw;
    expect(raw.encoding).toBe('base64');
    expect(Buffer.from(raw.body, 'base64')).toEqual(
      Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.from('[secret KEY]')]),
    );
  });
});

describe('what is kept of an answer', () => {
  it('the headers that matter, in lower case; no cookies', async () => {
    const { url } = await webServer((response) => {
      response.setHeader('Set-Cookie', 'session=1');
      response.setHeader('Server', 'x');
      response.setHeader('X-RateLimit-Remaining', '4');
      response.setHeader('RateLimit', '"default";r=1;t=2');
      response.setHeader('Retry-After', '3');
      response.setHeader('ETag', '"e"');
      response.setHeader('Content-Type', 'application/json');
      response.setHeader('Link', ['<a>', '<b>']);
      response.setHeader('CF-Ray', 'ray');
      response.end('{}');
    });
    const { raw } = (await send(() => ({ url }))) as { raw: { headers: Record<string, string> } };
    expect(raw.headers).toEqual({
      'x-ratelimit-remaining': '4',
      ratelimit: '"default";r=1;t=2',
      'retry-after': '3',
      etag: '"e"',
      'content-type': 'application/json',
      link: '<a>, <b>',
      'cf-ray': 'ray',
      date: expect.any(String),
    });
  });

  it('a byte order mark is dropped, and other charsets can be read', async () => {
    const bom = await webServer((response) => response.end('\ufeff{"a":1}'));
    expect(await send(() => ({ url: bom.url }))).toMatchObject({ raw: { body: '{"a":1}' } });
    for (const [type, bytes, text] of [
      ['text/plain; charset=iso-8859-1', [0x63, 0x61, 0x66, 0xe9], 'café'],
      ['text/plain; charset=shift_jis', [0x83, 0x65, 0x83, 0x58], 'テス'],
      ['text/plain; charset=nonsense', [0x80], '€'],
      ['text/plain', [0x80], '€'],
      ['application/json; charset=utf-8', [0x22, 0xe9, 0x22], '"é"'],
    ] as const) {
      const server = await webServer((response) =>
        response.writeHead(200, { 'content-type': type }).end(Buffer.from(bytes)),
      );
      const delivered = await send(() => ({ url: server.url }));
      if (delivered.ending !== 'answered' || delivered.raw.kind !== 'http') throw new Error(delivered.ending);
      expect(answerText(delivered.raw)).toBe(text);
    }
  });
});
