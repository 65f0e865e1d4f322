import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type SecretHandle, SecretLeakError } from '../sdk/index.ts';
import { bearer, findSecretHandle, header, isSecretHandle, makeSecretHandle, resolveAuth } from './handle.ts';

const handle = makeSecretHandle('MY_KEY');

describe('a handle', () => {
  verifies('SECRET-HANDLE-1', 'cannot become text or JSON: the error names the secret', () => {
    const uses: (() => unknown)[] = [
      () => JSON.stringify(handle),
      () => JSON.stringify({ nested: [handle] }),
      () => `${handle as unknown as string}`,
      () => String(handle),
      () => 'a'.concat(handle as unknown as string),
      () => Number(handle),
      () => [handle].join(),
      () => encodeURIComponent(handle as unknown as string),
      () => handle.valueOf(),
      () => new Headers({ authorization: handle as unknown as string }),
    ];
    for (const use of uses) {
      expect(use).toThrow(SecretLeakError);
      expect(use).toThrow(/MY_KEY/);
    }
  });

  it('shows its name where it is inspected', () => {
    expect(inspect(handle)).toBe('[secret MY_KEY]');
    expect(inspect({ deep: { list: [bearer(handle)] } })).toContain('[secret MY_KEY]');
  });

  it('cannot be changed, and is known as a handle, also to another copy of the code', () => {
    expect(() => Object.assign(handle, { name: 'OTHER' })).toThrow(TypeError);
    expect(isSecretHandle(handle)).toBe(true);
    expect(isSecretHandle({ [Symbol.for('callsheet.secret')]: true, name: 'X' })).toBe(true);
    for (const other of [null, undefined, 'MY_KEY', {}, { name: 'MY_KEY' }, []])
      expect(isSecretHandle(other)).toBe(false);
  });

  it('is made of a proper name only', () => {
    for (const name of ['lower', '', 7, undefined])
      expect(() => makeSecretHandle(name as string)).toThrow(expect.objectContaining({ code: 'SECRET_NAME_INVALID' }));
    expect(() => bearer('lower')).toThrow(expect.objectContaining({ code: 'SECRET_NAME_INVALID' }));
    expect(() => header('X Key', handle)).toThrow(expect.objectContaining({ code: 'FETCH_INVALID' }));
  });
});

describe('auth', () => {
  const read = (name: string) => (name === 'UNSET' ? undefined : `value of ${name}`);
  const secrets = (...names: string[]) => new Map(names.map((name) => [name, `value of ${name}`]));

  it.each<[string, SecretHandle | SecretHandle[] | undefined, Record<string, string>, string[]]>([
    ['nothing', undefined, {}, []],
    ['a bare handle', handle, { authorization: 'Bearer value of MY_KEY' }, ['MY_KEY']],
    ['a bearer by name', bearer('A'), { authorization: 'Bearer value of A' }, ['A']],
    ['a header', header('X-Api-Key', handle), { 'x-api-key': 'value of MY_KEY' }, ['MY_KEY']],
    [
      'several',
      [bearer('A'), header('X-Key', 'B')],
      { authorization: 'Bearer value of A', 'x-key': 'value of B' },
      ['A', 'B'],
    ],
  ])('%s', (_name, handles, headers, names) => {
    expect(resolveAuth(handles, read)).toEqual({ headers, secrets: secrets(...names) });
  });

  it('a handle of another copy of the code counts as a bearer token', () => {
    const foreign = { [Symbol.for('callsheet.secret')]: true, name: 'A' } as unknown as SecretHandle;
    expect(resolveAuth(foreign, read).headers).toEqual({ authorization: 'Bearer value of A' });
  });

  verifies('CTX-FETCH-4', 'a plain value, two handles for one header and an unset secret are refused', () => {
    const refused = (handles: unknown) => () => resolveAuth(handles as SecretHandle, read);
    expect(refused('sk-live')).toThrow(expect.objectContaining({ code: 'FETCH_INVALID' }));
    expect(refused('sk-live')).not.toThrow(/sk-live/);
    expect(refused([handle, bearer('B')])).toThrow(/two handles for the header authorization/);
    expect(refused(bearer('UNSET'))).toThrow(
      expect.objectContaining({
        code: 'SECRET_MISSING',
        next: expect.arrayContaining(['callsheet secrets set UNSET']),
      }),
    );
  });
});

describe('finding a handle', () => {
  it.each<[string, unknown, string]>([
    ['itself', handle, '$'],
    ['a property', { a: { b: handle } }, '$.a.b'],
    ['a list', { list: [1, [handle]] }, '$.list[1][0]'],
    ['an odd key', { 'x-key': handle }, '$["x-key"]'],
    ['a map', new Map([['k', handle]]), '$[1]'],
    ['a set', { set: new Set([handle]) }, '$.set[0]'],
    ['an instance', Object.assign(new Error('x'), { handle }), '$.handle'],
  ])('in %s', (_name, value, path) => {
    expect(findSecretHandle(value)).toBe(path);
  });

  it('finds none where there is none, in cycles and in great depth', () => {
    const cycle: Record<string, unknown> = { list: [] };
    (cycle.list as unknown[]).push(cycle);
    let deep: unknown = {};
    for (let level = 0; level < 100_000; level++) deep = { deep };
    for (const value of [null, undefined, 'text', 7, {}, { a: 1 }, [], cycle, deep, new Date(0)])
      expect(findSecretHandle(value)).toBeUndefined();
  });

  it('finds one wherever it is put into a JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.oneof(fc.string(), fc.nat(3)), { maxLength: 6 }), (value, way) => {
        expect(findSecretHandle(value)).toBeUndefined();
        let holder: unknown = handle;
        for (const step of way)
          holder = typeof step === 'number' ? [...Array(step).fill(value), holder] : { value, [step]: holder };
        expect(findSecretHandle(holder)).toMatch(/^\$/);
      }),
      { numRuns: 200 },
    );
  });
});
