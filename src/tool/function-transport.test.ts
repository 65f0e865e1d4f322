import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VirtualClock } from '../scope/index.ts';
import type { JsonValue } from '../sdk/index.ts';
import { operationOf, toolOf } from './conformance/operation.ts';
import { transportConformance } from './conformance/transport-suite.ts';
import { functionTransport } from './function-transport.ts';
import type { Delivered, Operation } from './port.ts';

type Run = (
  input: never,
  context: { signal: AbortSignal; secret: (name: string) => string; operationKey: string },
) => unknown;

const SECRET = 'sk-live-0123456789';
const transport = functionTransport({ readSecret: (name) => (name === 'KEY' ? SECRET : undefined) });

function send(run: Run, definition: Record<string, unknown> = {}, rest: Partial<Operation> = {}): Promise<Delivered> {
  return transport.send(operationOf(toolOf({ run, secrets: ['KEY', 'UNSET'], ...definition }), { n: 1 }, rest));
}

function throwing(value: unknown): () => never {
  return () => {
    throw value;
  };
}

transportConformance('functions', async () => ({
  open: (readSecret) => functionTransport({ readSecret }),
  answering: toolOf({ run: () => ({ email: 'a@b.example' }) }),
  throwing: toolOf({ run: throwing(new Error('boom')) }),
  reading: toolOf({
    secrets: ['KEY'],
    run: ({ name }: { name: string }, { secret }: { secret: (name: string) => string }) => secret(name),
  }),
}));

describe('values', () => {
  it.each<[string, unknown, JsonValue]>([
    ['an object', { a: [1, 'x', null, true] }, { a: [1, 'x', null, true] }],
    ['an empty string', '', ''],
    ['-0', -0, 0],
    ['an undefined property', { a: undefined, b: 1 }, { b: 1 }],
    ['a null prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ])('%s is kept, from a function and from a promise', async (_name, value, kept) => {
    const answered = { ending: 'answered', raw: { kind: 'value', value: kept } };
    expect(await send(() => value)).toEqual(answered);
    expect(await send(async () => value)).toEqual(answered);
  });

  it('what the function keeps and changes later does not change the answer', async () => {
    const kept = { emails: ['a@b.example'] };
    const delivered = await send(() => kept);
    kept.emails.push('changed');
    expect(delivered).toMatchObject({ raw: { value: { emails: ['a@b.example'] } } });
  });

  it('a thenable that is no promise is awaited', async () => {
    // biome-ignore lint/suspicious/noThenProperty: what is tested
    const thenable = { then: (resolve: (value: unknown) => void) => resolve(7) };
    expect(await send(() => thenable)).toMatchObject({ raw: { value: 7 } });
  });

  it.each<[string, unknown, string]>([
    ['a Date', { at: new Date(0) }, '$.at is an instance of Date'],
    ['NaN', { list: [1, Number.NaN] }, '$.list[1] is NaN'],
    ['a BigInt', 1n, '$ is a bigint'],
    ['a function', { f: () => 1 }, '$.f is a function'],
    ['undefined in a list', [undefined], '$[0] is undefined'],
    ['a lone surrogate', { s: '\ud800' }, 'lone surrogate'],
    ['a Map', new Map(), 'an instance of Map'],
  ])('%s is not guessed at: the place is named and nothing is tried again', async (_name, value, problem) => {
    const contract = { error: { code: 'TOOL_CONTRACT' }, message: expect.stringContaining(problem) };
    expect(await send(() => value)).toMatchObject({ ending: 'rejected', ...contract });
    expect(await send(async () => value, { effect: 'write' })).toMatchObject({ ending: 'ambiguous', ...contract });
  });

  verifies('TOOL-FUNCTION-1', 'null and undefined are the answer that there is none', async () => {
    const none = { ending: 'answered', raw: { kind: 'value', value: null } };
    for (const value of [null, undefined]) {
      expect(await send(() => value)).toEqual(none);
      expect(await send(async () => value)).toEqual(none);
    }
  });

  it('a cycle, and a property that throws, end too', async () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(await send(() => cycle)).toMatchObject({ ending: 'rejected', error: { code: 'TOOL_CONTRACT' } });
    const trap = Object.defineProperty({}, 'x', { enumerable: true, get: throwing(new Error('trap')) });
    expect(await send(() => trap)).toMatchObject({ message: expect.stringContaining('trap') });
  });
});

describe('thrown errors', () => {
  verifies(
    'TOOL-FUNCTION-1',
    'endsAs decides, else rejected for reads and ambiguous for what may have been done',
    async () => {
      const plain = throwing(new Error('no luck'));
      expect(await send(plain)).toMatchObject({ ending: 'rejected', message: expect.stringContaining('no luck') });
      expect(await send(plain, { effect: 'write' })).toMatchObject({ ending: 'ambiguous' });
      expect(await send(plain, { effect: 'idempotent' })).toMatchObject({ ending: 'ambiguous' });
      for (const endsAs of ['rejected', 'deferred', 'notDispatched', 'inProgress', 'ambiguous']) {
        const error = Object.assign(new Error('x'), { endsAs });
        expect(await send(throwing(error), { effect: 'write' })).toMatchObject({ ending: endsAs });
        expect(await send(() => Promise.reject(error))).toMatchObject({ ending: endsAs });
      }
    },
  );

  it.each(['answered', 'whatever', 42, null])('an endsAs of %s counts as none', async (endsAs) => {
    expect(await send(throwing(Object.assign(new Error('x'), { endsAs })))).toMatchObject({ ending: 'rejected' });
  });

  it('retryAfterMs becomes a header in whole seconds, rounded up', async () => {
    const error = Object.assign(new Error('slow down'), { endsAs: 'deferred', retryAfterMs: 1200 });
    expect(await send(throwing(error))).toMatchObject({ ending: 'deferred', headers: { 'retry-after': '2' } });
  });

  it.each([undefined, null, 'text', 7, Object.create(null), { message: 'object' }])(
    '%s can be thrown',
    async (value) => {
      expect(await send(throwing(value))).toMatchObject({
        ending: 'rejected',
        message: expect.stringContaining('acme.find'),
      });
      expect(await send(() => Promise.reject(value))).toMatchObject({ ending: 'rejected' });
    },
  );

  it('an effect function that throws is taken for a write', async () => {
    expect(await send(throwing(new Error('x')), { effect: throwing(new Error('y')) })).toMatchObject({
      ending: 'ambiguous',
    });
  });
});

describe('context', () => {
  it('gives signal, secret and operation key, each only when it is read', async () => {
    let keys = 0;
    const operationKey = (): string => `key-${++keys}`;
    expect(await send(() => 1, {}, { operationKey })).toMatchObject({ ending: 'answered' });
    expect(keys).toBe(0);
    const run: Run = (_input, { signal, secret, operationKey }) => [signal.aborted, secret('KEY').length, operationKey];
    expect(await send(run, {}, { operationKey })).toMatchObject({ raw: { value: [false, SECRET.length, 'key-1'] } });
  });

  verifies(
    'SECRET-DECLARED-1',
    'a secret that cannot be read before the function waits is a definite end, also of a write',
    async () => {
      const early: Run = async (_input, { secret }) => secret('UNSET');
      expect(await send(early, { effect: 'write' })).toMatchObject({
        ending: 'rejected',
        error: { code: 'SECRET_MISSING' },
      });
      const late: Run = async (_input, { secret }) => {
        await Promise.resolve();
        return secret('OTHER');
      };
      expect(await send(late)).toMatchObject({ ending: 'rejected', error: { code: 'SECRET_NOT_DECLARED' } });
      expect(await send(late, { effect: 'write' })).toMatchObject({
        ending: 'ambiguous',
        error: { code: 'SECRET_NOT_DECLARED' },
      });
    },
  );

  it('a function may catch a missing secret and do without', async () => {
    const optional: Run = (_input, { secret }) => {
      try {
        return secret('UNSET');
      } catch {
        return 'without';
      }
    };
    expect(await send(optional)).toMatchObject({ raw: { value: 'without' } });
  });

  it('a secret that was read never leaves, in values, keys or errors', async () => {
    const echo: Run = (_input, { secret }) => ({ [secret('KEY')]: `Bearer ${secret('KEY')}` });
    const answered = await send(echo);
    expect(answered).toMatchObject({ raw: { value: { '[secret KEY]': 'Bearer [secret KEY]' } } });
    const failed = await send((_input, { secret }) => Promise.reject(new Error(`refused ${secret('KEY')}`)));
    expect(failed).toMatchObject({ message: 'Tool acme.find threw: refused [secret KEY]' });
    const notJson = await send((_input, { secret }) => ({ [secret('KEY')]: new Date(0) }));
    expect(JSON.stringify([answered, failed, notJson, (notJson as { error?: Error }).error?.message])).not.toContain(
      SECRET,
    );
  });
});

describe('time', () => {
  const never = new Promise(() => {});

  verifies('DELIVER-AMBIGUOUS-1', 'a function that ignores its signal still ends at the time-out', async () => {
    const clock = new VirtualClock();
    let own: AbortSignal | undefined;
    const run: Run = (_input, { signal }) => {
      own = signal;
      return never;
    };
    const sent = functionTransport({ readSecret: () => undefined, clock }).send(
      operationOf(toolOf({ run, timeoutMs: 500 })),
    );
    await clock.advance(499);
    expect(own?.aborted).toBe(false);
    await clock.advance(1);
    expect(await sent).toMatchObject({
      ending: 'ambiguous',
      networkKind: 'timeout',
      message: expect.stringContaining('500 ms'),
    });
    expect(own?.aborted).toBe(true);
    expect(clock.pending()).toEqual([]);
  });

  it('a function that obeys its signal ends as ambiguous too, not as the error that it throws', async () => {
    const clock = new VirtualClock();
    const obeys: Run = (_input, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const sent = functionTransport({ readSecret: () => undefined, clock }).send(operationOf(toolOf({ run: obeys })));
    await clock.advance(60_000);
    expect(await sent).toMatchObject({ ending: 'ambiguous', networkKind: 'timeout' });
  });

  it('a cancellation ends it at once and aborts its signal with the same reason', async () => {
    const controller = new AbortController();
    let own: AbortSignal | undefined;
    const run: Run = (_input, { signal }) => {
      own = signal;
      return never;
    };
    const sent = send(run, {}, { signal: controller.signal });
    controller.abort(new Error('interrupted'));
    expect(await sent).toMatchObject({ ending: 'ambiguous', message: expect.stringContaining('cancelled') });
    expect(own?.reason).toEqual(new Error('interrupted'));
  });

  it('a function that returns at once sets no timer, and one that ended leaves none behind', async () => {
    const clock = new VirtualClock();
    const timed = functionTransport({ readSecret: () => undefined, clock });
    const sync = timed.send(operationOf(toolOf({ run: () => 1 })));
    expect(clock.pending()).toEqual([]);
    const asynchronous = timed.send(operationOf(toolOf({ run: async () => 1 })));
    expect(clock.pending()).toHaveLength(1);
    await Promise.all([sync, asynchronous]);
    expect(clock.pending()).toEqual([]);
  });
});
