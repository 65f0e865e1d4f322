import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonValue } from '../sdk/index.ts';
import { operationOf, toolOf } from './conformance/operation.ts';
import { fixtureTransport, recordingTransport } from './fixtures.ts';
import { functionTransport } from './function-transport.ts';
import type { Delivered, Operation, Transport } from './port.ts';
import { routeTransport } from './route.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'callsheet-fixtures-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const tool = toolOf({ request: () => ({ url: '' }) });

function scripted(...answers: Delivered[]): Transport & { readonly asked: Operation[] } {
  const asked: Operation[] = [];
  return {
    asked,
    send: async (operation) => {
      asked.push(operation);
      return answers[asked.length - 1] ?? { ending: 'ambiguous', message: 'asked too often' };
    },
    close: async () => {},
  };
}

function http(body: string, rest: Record<string, unknown> = {}): Delivered {
  return {
    ending: 'answered',
    raw: { kind: 'http', status: 200, headers: { date: 'today' }, body, encoding: 'utf8', ...rest },
  } as Delivered;
}

async function roundTrip(delivered: Delivered, input: JsonValue = { q: 'x' }): Promise<Delivered> {
  expect(await recordingTransport(scripted(delivered), dir).send(operationOf(tool, input))).toBe(delivered);
  return fixtureTransport(dir).send(operationOf(tool, input));
}

describe('recording and replaying', () => {
  it.each<[string, Delivered]>([
    ['compact JSON', http('{"email":"a@b.example","n":[1,2]}')],
    ['JSON with its own spacing', http('{ "email": 1 }')],
    ['JSON with a number that JavaScript would round', http('{"id":12345678901234567890}')],
    ['JSON null', http('null')],
    ['text', http('<p>hello')],
    ['nothing', http('', { status: 204 })],
    ['bytes', http('/wA=', { encoding: 'base64' })],
    ['a value', { ending: 'answered', raw: { kind: 'value', value: { a: [null] } } }],
    ['a value of null', { ending: 'answered', raw: { kind: 'value', value: null } }],
    [
      'a refusal',
      { ending: 'rejected', message: 'no', status: 400, headers: { date: 'x' }, bodyText: 'why', requestId: 'r' },
    ],
    ['a time-out', { ending: 'ambiguous', message: 'slow', networkKind: 'timeout' }],
  ])('%s comes back as it was', async (_name, delivered) => {
    expect(await roundTrip(delivered)).toEqual(delivered);
  });

  it('writes one file for each tool, version and input, readable by its owner only', async () => {
    const recording = recordingTransport(scripted(http('{}'), http('{}'), http('{}'), http('{"new":1}')), dir);
    await recording.send(operationOf(tool, { b: 1, a: 2 }));
    await recording.send(operationOf(tool, { a: 3 }));
    await recording.send(operationOf(toolOf({ request: () => ({ url: '' }), version: '2' }), { a: 3 }));
    await recording.send(operationOf(tool, { a: 2, b: 1 }));
    const files = await readdir(dir);
    expect(files.sort()).toEqual([
      expect.stringMatching(/^acme\.find@1--[0-9a-f]{24}\.json$/),
      expect.anything(),
      expect.stringMatching(/^acme\.find@2--/),
    ]);
    for (const file of files) expect((await stat(join(dir, file))).mode & 0o777).toBe(0o600);
    expect(await fixtureTransport(dir).send(operationOf(tool, { b: 1, a: 2 }))).toEqual(http('{"new":1}'));
  });

  it('keeps neither what never reached a provider nor what we stopped ourselves', async () => {
    const controller = new AbortController();
    const recording = recordingTransport(
      scripted(
        { ending: 'notDispatched', message: 'refused', networkKind: 'refused' },
        { ending: 'rejected', message: 'no key', error: { code: 'SECRET_MISSING' } as never },
        { ending: 'ambiguous', message: 'cancelled' },
      ),
      dir,
    );
    await recording.send(operationOf(tool, 1));
    await recording.send(operationOf(tool, 2));
    controller.abort();
    await recording.send(operationOf(tool, 3, { signal: controller.signal }));
    expect(await readdir(dir)).toEqual([]);
  });

  it('a fixture of a version that the tool reads is good enough', async () => {
    await recordingTransport(scripted(http('{"old":1}')), dir).send(operationOf(tool, {}));
    const next = toolOf({ request: () => ({ url: '' }), version: '2', reads: ['1'] });
    expect(await fixtureTransport(dir).send(operationOf(next, {}))).toEqual(http('{"old":1}'));
  });

  it('an answer that cannot be written is delivered, and closing says so', async () => {
    const recording = recordingTransport(scripted(http('{}')), dir);
    await rm(dir, { recursive: true });
    expect(await recording.send(operationOf(tool, {}))).toEqual(http('{}'));
    await expect(recording.close()).rejects.toMatchObject({
      code: 'OUTPUT_NOT_WRITABLE',
      message: expect.stringContaining(dir),
    });
  });

  it('a folder that cannot be made is refused at once', async () => {
    const file = join(dir, 'file');
    await writeFile(file, '');
    expect(() => recordingTransport(scripted(), join(file, 'sub'))).toThrow(
      expect.objectContaining({ code: 'OUTPUT_NOT_WRITABLE' }),
    );
  });
});

describe('fixtures that are missing or damaged', () => {
  it('a missing one names tool, input and file', async () => {
    const delivered = await fixtureTransport(dir).send(operationOf(tool, { domain: 'a.example' }));
    expect(delivered).toMatchObject({
      ending: 'rejected',
      error: { code: 'FIXTURE_MISSING', details: { tool: 'acme.find', input: { domain: 'a.example' } } },
    });
    const { message } = delivered as { message: string };
    expect(message).toContain('acme.find with input {"domain":"a.example"}');
    expect(message).toMatch(/acme\.find@1--[0-9a-f]{24}\.json\.$/);
    expect(message).toContain(dir);
  });

  it('the name in that message is the name under which it is recorded, and can be written by hand', async () => {
    const missing = (await fixtureTransport(dir).send(operationOf(tool, 1))) as {
      error?: { details: { file: string } };
    };
    const file = missing.error?.details.file ?? '';
    await writeFile(
      file,
      JSON.stringify({
        format: 1,
        ending: 'answered',
        answer: { kind: 'http', status: 200, headers: { ETag: 'e' }, json: { a: 1 } },
      }),
    );
    expect(await fixtureTransport(dir).send(operationOf(tool, 1))).toEqual(http('{"a":1}', { headers: { etag: 'e' } }));
  });

  it.each([
    ['', 'is not a JSON object'],
    ['[1]', 'is not a JSON object'],
    ['{"format":9}', 'has format 9'],
    ['{"format":1,"ending":"answered"}', '`answer`'],
    ['{"format":1,"ending":"answered","answer":{"kind":"http","status":200}}', '`answer`'],
    ['{"format":1,"ending":"answered","answer":{"kind":"value"}}', '`answer`'],
    ['{"format":1,"ending":"perhaps"}', '`ending`'],
  ])('%s is refused with what is wrong', async (text, problem) => {
    await recordingTransport(scripted(http('{}')), dir).send(operationOf(tool, {}));
    const [file = ''] = await readdir(dir);
    await writeFile(join(dir, file), text);
    expect(await fixtureTransport(dir).send(operationOf(tool, {}))).toMatchObject({
      ending: 'rejected',
      error: { code: 'FILE_MALFORMED', message: expect.stringMatching(new RegExp(`${file}.*${problem}`)) },
    });
  });

  it('a secret that a provider echoed is not in the file', async () => {
    const secret = 'sk-live-0123456789';
    const run = (_input: unknown, context: { secret: (name: string) => string }) => ({ echo: context.secret('KEY') });
    const echoing = toolOf({ run, secrets: ['KEY'] });
    await recordingTransport(functionTransport({ readSecret: () => secret }), dir).send(operationOf(echoing, {}));
    const [file = ''] = await readdir(dir);
    const text = await readFile(join(dir, file), 'utf8');
    expect(text).toContain('[secret KEY]');
    expect(text).not.toContain(secret);
  });
});

describe('routing', () => {
  it('functions run here, everything else goes out, and closing closes both', async () => {
    const closed: string[] = [];
    const named = (name: string): Transport => ({
      send: async () => ({ ending: 'answered', raw: { kind: 'value', value: name } }),
      close: async () => void closed.push(name),
    });
    const route = routeTransport({ http: named('http'), fn: named('fn') });
    expect(await route.send(operationOf(tool))).toMatchObject({ raw: { value: 'http' } });
    expect(await route.send(operationOf(toolOf({ run: () => 1 })))).toMatchObject({ raw: { value: 'fn' } });
    await route.close();
    expect(closed.sort()).toEqual(['fn', 'http']);
  });
});
