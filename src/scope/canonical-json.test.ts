import oracle from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { canonicalJson, digest, NotJsonError, toJson } from './index.ts';

/** JSON values with the strings and numbers that go wrong most easily. */
const json = fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 4 });

/** The same value with the keys of every object in another order, zeros negative, and undefined properties added. */
function disguised(value: unknown): unknown {
  if (value === 0) return -0;
  if (Array.isArray(value)) return value.map(disguised);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, disguised(item)] as const);
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, item] of entries.reverse()) Object.defineProperty(copy, key, property(item));
  let absent = 'absent';
  while (absent in copy) absent += '_';
  Object.defineProperty(copy, absent, property(undefined));
  return copy;
}

/** A plain assignment would set the prototype where the key is `__proto__`. */
function property(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, writable: true, configurable: true };
}

/** Equality of JSON values without any text: independent of what is tested. */
function equalJson(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [keysA, keysB] = [Object.keys(a), Object.keys(b)];
  return (
    keysA.length === keysB.length &&
    keysA.every((key) => Object.hasOwn(b, key) && equalJson(Reflect.get(a, key), Reflect.get(b, key)))
  );
}

describe('canonical JSON', () => {
  it('writes what the package canonicalize writes', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(value)).toBe(oracle(value));
      }),
      { numRuns: 500 },
    );
  });

  it('writes numbers as ECMAScript does, as the package does', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(canonicalJson(value)).toBe(oracle(value));
        expect(Object.is(JSON.parse(canonicalJson(value)), value === 0 ? 0 : value)).toBe(true);
      }),
    );
  });

  it('orders keys by UTF-16 code units, as the example of RFC 8785 does', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    const order = [...canonicalJson(value).matchAll(/":"([^"]*)"/g)].map((match) => match[1]);
    expect(order).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  verifies('KEY-CANON-1', 'equal values have one text and digest, in any key order, with -0 and undefined', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(disguised(value))).toBe(canonicalJson(value));
        expect(digest(canonicalJson(disguised(value)))).toBe(digest(canonicalJson(value)));
      }),
      { numRuns: 500 },
    );
    expect(canonicalJson({ a: undefined, b: -0 })).toBe(canonicalJson({ b: 0 }));
  });

  verifies('KEY-CANON-2', 'different values have different texts', () => {
    // Small values over few letters, so that near misses and equal pairs both occur.
    const near = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 2 },
        fc.constantFrom(null, true, false, 0, 1, 10, '', '0', '1', ' 1', '1 ', 'a', 'A', 'null', '[]', '"', '\\', ','),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'a"', '', '__proto__'), tie('value'), { maxKeys: 3 }),
      ),
    })).value;
    fc.assert(
      fc.property(near, near, (a, b) => {
        expect(canonicalJson(a) === canonicalJson(b)).toBe(equalJson(a, b));
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(canonicalJson(a) === canonicalJson(b)).toBe(equalJson(a, b));
      }),
    );
  });

  verifies('KEY-CANON-2', 'strings are not trimmed and numbers are not rounded', () => {
    expect(canonicalJson('a')).not.toBe(canonicalJson('a '));
    expect(canonicalJson('é')).not.toBe(canonicalJson('e\u0301'));
    expect(canonicalJson(0.1 + 0.2)).not.toBe(canonicalJson(0.3));
    expect(canonicalJson(9007199254740992)).not.toBe(canonicalJson(9007199254740991));
    expect(canonicalJson(1)).not.toBe(canonicalJson('1'));
    expect(canonicalJson(null)).not.toBe(canonicalJson({}));
  });

  it('is read back as the value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(equalJson(toJson(value), toJson(disguised(value)))).toBe(true);
      }),
    );
  });
});

describe('what is not JSON', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  class Person {}
  const sparse = [1, 2, 3];
  delete sparse[1];

  const cases: [string, unknown, string, RegExp][] = [
    ['undefined', undefined, '$', /undefined/],
    ['undefined in an array', { a: [1, undefined] }, '$.a[1]', /undefined/],
    ['a hole in an array', sparse, '$[1]', /undefined/],
    ['a function', { a: { b: () => 1 } }, '$.a.b', /a function/],
    ['a BigInt', { a: 1n }, '$.a', /a bigint/],
    ['a symbol', [Symbol('x')], '$[0]', /a symbol/],
    ['NaN', { a: [Number.NaN] }, '$.a[0]', /NaN/],
    ['Infinity', { a: Number.POSITIVE_INFINITY }, '$.a', /Infinity/],
    ['a Date', { at: new Date(0) }, '$.at', /an instance of Date/],
    ['a Map', { m: new Map() }, '$.m', /an instance of Map/],
    ['bytes', { b: new Uint8Array(2) }, '$.b', /an instance of Uint8Array/],
    ['a class instance', { who: new Person() }, '$.who', /an instance of Person/],
    ['a lone surrogate', { s: '\ud800' }, '$', /lone surrogate/],
    ['a lone surrogate in a key', { '\udc00': 1 }, '$', /lone surrogate/],
  ];

  verifies('KEY-CANON-3', 'is refused with its path, never guessed', () => {
    for (const [name, value, path, found] of cases) {
      const error = thrownBy(() => canonicalJson(value));
      expect(error, name).toBeInstanceOf(NotJsonError);
      expect((error as NotJsonError).path, name).toContain(path);
      expect((error as NotJsonError).message, name).toMatch(found);
      expect(() => toJson(value), name).toThrow(NotJsonError);
    }
  });

  it('includes cycles, and nesting so deep that it may be one', () => {
    expect(() => canonicalJson(cycle)).toThrow(/cycle/);
    let deep: unknown = 1;
    for (let level = 0; level < 600; level++) deep = [deep];
    expect(() => canonicalJson(deep)).toThrow(/deeper than 512/);
  });

  it('does not include plain objects without a prototype', () => {
    expect(canonicalJson(Object.assign(Object.create(null), { b: 1, a: 2 }))).toBe('{"a":2,"b":1}');
  });
});

function thrownBy(fn: () => unknown): unknown {
  try {
    fn();
  } catch (error) {
    return error;
  }
  return undefined;
}
