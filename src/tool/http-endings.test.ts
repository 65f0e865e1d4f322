import type { Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import type { Ending } from '../sdk/index.ts';
import { operationOf, toolOf } from './conformance/operation.ts';
import { onRequestHead, signalled, tcpServer, webServer } from './conformance/server.ts';
import { transportConformance } from './conformance/transport-suite.ts';
import { httpTransport } from './http-transport.ts';
import type { Delivered, Failure, Operation } from './port.ts';

const transport = httpTransport({ readSecret: () => undefined });

function send(
  url: string,
  definition: Record<string, unknown> = {},
  rest: Partial<Operation> = {},
): Promise<Delivered> {
  const tool = toolOf({ request: () => ({ url, method: 'POST', body: { n: 1 } }), ...definition });
  return transport.send(operationOf(tool, {}, rest));
}

async function statusServer(
  status: number,
  headers: Record<string, string> = {},
  body: string | Buffer = '{"said":true}',
) {
  return webServer((response) => response.writeHead(status, headers).end(body));
}

transportConformance('http', async () => {
  const { url } = await statusServer(200);
  return {
    open: (readSecret) => httpTransport({ readSecret }),
    answering: toolOf({ request: () => ({ url }) }),
    throwing: toolOf({
      request: () => {
        throw new Error('boom');
      },
    }),
    reading: toolOf({
      secrets: ['KEY'],
      request: ({ input, secret }: { input: { name: string }; secret: (name: string) => string }) => ({
        url,
        headers: { authorization: secret(input.name) },
      }),
    }),
  };
});

const KEYED = { idempotency: { header: 'Idempotency-Key' } };
const table: [status: number, definition: Record<string, unknown>, ending: Ending][] = [
  [200, {}, 'answered'],
  [201, { effect: 'write' }, 'answered'],
  [204, {}, 'answered'],
  [206, {}, 'answered'],
  [404, { noResult: [404] }, 'answered'],
  [410, { noResult: [404, 410] }, 'answered'],
  [500, { noResult: [500] }, 'answered'],
  [301, {}, 'rejected'],
  [304, {}, 'rejected'],
  [400, {}, 'rejected'],
  [401, {}, 'rejected'],
  [402, {}, 'rejected'],
  [403, {}, 'rejected'],
  [404, {}, 'rejected'],
  [404, { noResult: [410] }, 'rejected'],
  [409, {}, 'rejected'],
  [413, {}, 'rejected'],
  [418, {}, 'rejected'],
  [422, {}, 'rejected'],
  [425, {}, 'rejected'],
  [409, KEYED, 'inProgress'],
  [425, KEYED, 'inProgress'],
  [429, {}, 'deferred'],
  [429, { effect: 'write' }, 'deferred'],
  [503, {}, 'deferred'],
  [503, { effect: 'idempotent' }, 'deferred'],
  [503, { effect: 'write', ...KEYED }, 'deferred'],
  [503, { effect: 'write' }, 'ambiguous'],
  [503, { effect: () => 'write' }, 'ambiguous'],
  [408, {}, 'ambiguous'],
  [500, {}, 'ambiguous'],
  [502, {}, 'ambiguous'],
  [504, KEYED, 'ambiguous'],
  [599, {}, 'ambiguous'],
];

describe('endings by status', () => {
  verifies('DELIVER-ENDING-1', 'each status ends as the table of the design says, in one request', async () => {
    for (const [status, definition, ending] of table) {
      const { url, requests } = await statusServer(
        status,
        { 'x-request-id': 'r-1' },
        status === 204 || status === 304 ? '' : '{}',
      );
      const delivered = await send(url, definition);
      const found = [status, definition, delivered.ending];
      expect(found).toEqual([status, definition, ending]);
      if (delivered.ending !== 'answered') expect(delivered).toMatchObject({ status, requestId: 'r-1' });
      expect(requests).toHaveLength(1);
    }
  });

  verifies('DELIVER-REDIRECT-1', 'a redirect is not followed, and where it points to is said', async () => {
    const target = await statusServer(200);
    const { url } = await statusServer(302, { location: target.url });
    expect(await send(url)).toMatchObject({ ending: 'rejected', status: 302, headers: { location: target.url } });
    expect(target.requests).toHaveLength(0);
  });

  verifies(
    'DELIVER-CLASSIFY-1',
    'classify overrides the ending, and is seen with status, headers and body',
    async () => {
      const { url } = await statusServer(200, { 'x-odd': 'yes' }, '{"error":"busy"}');
      const seen: unknown[] = [];
      const classify = (view: {
        status: number;
        headers: Record<string, string>;
        json: unknown;
        text: string;
      }): Ending => {
        seen.push([view.status, view.headers['x-odd'], view.json, view.text]);
        return 'deferred';
      };
      expect(await send(url, { classify })).toMatchObject({
        ending: 'deferred',
        status: 200,
        bodyText: '{"error":"busy"}',
      });
      expect(seen).toEqual([[200, 'yes', { error: 'busy' }, '{"error":"busy"}']]);
      const notFound = await statusServer(404);
      expect(await send(notFound.url, { classify: () => 'answered' })).toMatchObject({ ending: 'answered' });
    },
  );

  it.each<[string, () => unknown]>([
    ['returns undefined', () => undefined],
    ['returns no ending', () => 'maybe'],
    [
      'throws',
      () => {
        throw new Error('x');
      },
    ],
  ])('a classify that %s leaves a paid answer an answer', async (_name, classify) => {
    const { url } = await statusServer(200);
    expect(await send(url, { classify })).toMatchObject({ ending: 'answered' });
  });

  it('an informational head is not the answer', async () => {
    const { url } = await webServer((response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeProcessing();
      response.writeHead(200).end('done');
    });
    expect(await send(url)).toMatchObject({ ending: 'answered', raw: { status: 200, body: 'done' } });
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
    const cut = await tcpServer((socket) => onRequestHead(socket, () => socket.end(early)));
    const broken = await send(`http://${cut.host}/`);
    expect(broken).toMatchObject({ ending: 'ambiguous', networkKind: 'reset' });
    expect(broken).not.toHaveProperty('status');
  });
});

describe('what never went out', () => {
  const nowhere = { ending: 'notDispatched' } as const;

  verifies('DELIVER-NOT-SENT-1', 'DNS, refused, TLS and reset at accept', async () => {
    expect(await send('http://callsheet-test.invalid/x')).toMatchObject({ ...nowhere, networkKind: 'dns' });
    // Port 1 (tcpmux) is one that nothing listens on.
    expect(await send('http://127.0.0.1:1/')).toMatchObject({ ...nowhere, networkKind: 'refused' });
    const plain = await statusServer(200);
    expect(await send(plain.url.replace('http:', 'https:'))).toMatchObject({ ...nowhere, networkKind: 'tls' });
    expect(plain.requests).toHaveLength(0);
    for (const goneAtOnce of [(socket: Socket) => socket.resetAndDestroy(), (socket: Socket) => socket.destroy()]) {
      const gone = await tcpServer(goneAtOnce);
      expect(await send(`https://${gone.host}/`)).toMatchObject({ ...nowhere, networkKind: 'reset' });
      expect(gone.connections()).toBe(1);
    }
  });

  it('a reset at accept of a plain connection is never taken for more than it is, nor sent again', async () => {
    const reset = await tcpServer((socket) => socket.resetAndDestroy());
    const delivered = await send(`http://${reset.host}/`);
    // The kernel tells of it before the request is written, or after: a race that the peer decides.
    expect(['notDispatched', 'ambiguous']).toContain(delivered.ending);
    expect(delivered).toMatchObject({ networkKind: 'reset' });
    expect(reset.connections()).toBe(1);
  });

  it('a time-out while the request waits for a free connection', async () => {
    const clock = new VirtualClock();
    const arrived = signalled();
    const { url, requests } = await webServer(() => arrived.signal());
    const narrow = httpTransport({ readSecret: () => undefined, clock, connections: 1 });
    const tool = toolOf({ request: () => ({ url }) });
    const first = narrow.send(operationOf(tool, {}, { timeoutMs: 5_000 }));
    await arrived.done;
    const second = narrow.send(operationOf(tool, {}, { timeoutMs: 1_000 }));
    await clock.advance(1_000);
    expect(await second).toMatchObject({ ...nowhere, networkKind: 'timeout' });
    await clock.advance(4_000);
    expect(await first).toMatchObject({ ending: 'ambiguous', networkKind: 'timeout' });
    await narrow.close();
    expect(requests).toHaveLength(1);
  });

  it('a closed transport', async () => {
    const closed = httpTransport({ readSecret: () => undefined });
    await closed.close();
    const { url, requests } = await statusServer(200);
    expect(await closed.send(operationOf(toolOf({ request: () => ({ url }) })))).toMatchObject(nowhere);
    expect(requests).toHaveLength(0);
  });
});

describe('what may have been done', () => {
  const broken = (networkKind: Failure['networkKind']) => ({ ending: 'ambiguous', networkKind });

  verifies('DELIVER-AMBIGUOUS-1', 'a reset after the request, and a hang', async () => {
    const reset = await tcpServer((socket) => onRequestHead(socket, () => socket.resetAndDestroy()));
    expect(await send(`http://${reset.host}/`)).toMatchObject(broken('reset'));
    // Not sent again by itself, whatever the method.
    const get = { request: () => ({ url: `http://${reset.host}/` }) };
    expect(await send('', get)).toMatchObject(broken('reset'));
    expect(reset.connections()).toBe(2);
    const closed = await tcpServer((socket) => onRequestHead(socket, () => socket.end()));
    expect(await send(`http://${closed.host}/`)).toMatchObject(broken('reset'));
  });

  it.each([
    ['fewer bytes than its content-length', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"cut":'],
    ['a chunked body without its end', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"cut\r\n'],
    ['half a head', 'HTTP/1.1 200 OK\r\ncontent-'],
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ])('an answer with %s', async (_name, text) => {
    const cut = await tcpServer((socket) => onRequestHead(socket, () => socket.end(text)));
    const delivered = await send(`http://${cut.host}/`);
    expect(delivered.ending).toBe('ambiguous');
    expect(['truncated', 'reset']).toContain((delivered as Failure).networkKind);
  });

  it('a truncated answer keeps its status, so that it can be told apart', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\nx-request-id: r-9\r\n\r\n{"cut":';
    const cut = await tcpServer((socket) => onRequestHead(socket, () => socket.end(head)));
    expect(await send(`http://${cut.host}/`)).toMatchObject({ ...broken('truncated'), status: 200, requestId: 'r-9' });
  });

  it.each([
    ['before the head', ''],
    ['in the middle of the body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"slow":'],
  ])('a hang %s ends at the time-out and closes the connection', async (_name, text) => {
    const clock = new VirtualClock();
    const arrived = signalled();
    const gone = signalled();
    const hung = await tcpServer((socket) => {
      socket.on('close', gone.signal);
      onRequestHead(socket, () => socket.write(text, () => arrived.signal()));
    });
    const timed = httpTransport({ readSecret: () => undefined, clock });
    const sent = timed.send(
      operationOf(toolOf({ request: () => ({ url: `http://${hung.host}/` }), timeoutMs: 2_000 })),
    );
    await arrived.done;
    await clock.advance(2_000);
    expect(await sent).toMatchObject({ ...broken('timeout'), message: expect.stringContaining('2000 ms') });
    await gone.done;
    expect(clock.pending()).toEqual([]);
  });

  it('a cancellation after the request has gone out', async () => {
    const controller = new AbortController();
    const { url } = await webServer(() => controller.abort());
    expect(await send(url, {}, { signal: controller.signal })).toMatchObject({
      ending: 'ambiguous',
      message: expect.stringContaining('cancelled'),
    });
  });
});

describe('bodies', () => {
  verifies('DELIVER-LARGE-1', '30 MB, text that is no JSON, and nothing at all are answers', async () => {
    const big = Buffer.alloc(30 * 1024 * 1024, 'x');
    const large = (await send((await statusServer(200, {}, big)).url)) as { raw: { body: string } };
    expect(large.raw.body.length).toBe(big.length);
    expect(await send((await statusServer(200, {}, '<p>hello')).url)).toMatchObject({
      raw: { body: '<p>hello', encoding: 'utf8' },
    });
    expect(await send((await statusServer(200, {}, '')).url)).toMatchObject({ raw: { body: '', encoding: 'utf8' } });
  });

  it('more than 64 MiB is not kept, whether its length is announced or not', async () => {
    const tooLarge = { ending: 'ambiguous', networkKind: 'truncated', message: expect.stringContaining('64 MiB') };
    const announced = await webServer((response) => {
      response.writeHead(200, { 'content-length': String(65 * 1024 * 1024) });
      response.write('x');
    });
    expect(await send(announced.url)).toMatchObject(tooLarge);
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const unannounced = await webServer((response) => {
      const more = (left: number): void => {
        if (left > 0 && !response.destroyed) response.write(chunk, () => more(left - 1));
      };
      more(66);
    });
    expect(await send(unannounced.url)).toMatchObject(tooLarge);
  });

  it.each<[string, Buffer]>([
    ['gzip', gzipSync('{"packed":1}')],
    ['x-gzip', gzipSync('{"packed":1}')],
    ['br', brotliCompressSync('{"packed":1}')],
    ['deflate', deflateSync('{"packed":1}')],
    ['deflate', deflateRawSync('{"packed":1}')],
    ['gzip, br', brotliCompressSync(gzipSync('{"packed":1}'))],
    ['identity', Buffer.from('{"packed":1}')],
  ])('a body sent as %s is unpacked, though none was asked for', async (encoding, body) => {
    const { url, requests } = await statusServer(200, { 'content-encoding': encoding }, body);
    expect(await send(url)).toMatchObject({ ending: 'answered', raw: { body: '{"packed":1}' } });
    expect(requests[0]?.headers['accept-encoding']).toBeUndefined();
  });

  it('a damaged or unknown encoding is ambiguous for an answer, and nothing for a refusal', async () => {
    const damaged = { ending: 'ambiguous', networkKind: 'truncated', status: 200 };
    const half = gzipSync('{"packed":1}').subarray(0, 15);
    expect(await send((await statusServer(200, { 'content-encoding': 'gzip' }, half)).url)).toMatchObject(damaged);
    expect(await send((await statusServer(200, { 'content-encoding': 'snappy' }, half)).url)).toMatchObject(damaged);
    expect(await send((await statusServer(429, { 'content-encoding': 'gzip' }, half)).url)).toMatchObject({
      ending: 'deferred',
    });
  });
});
