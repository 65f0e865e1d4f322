import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type KeyProblem, keyCandidates, keyDigest, keySpecOf, keyText, rowName } from './keys.ts';

const text = (key: unknown, row: Record<string, unknown>, index = 0): string | KeyProblem =>
  keyText(keySpecOf(key, 'leads'), row, index);

describe('row keys', () => {
  verifies('DATA-KEY-1', 'a field, a list, a function and the content each make a key of their own', () => {
    const row = { b: 'x', a: 1 };
    expect(text('b', row)).toBe('"x"');
    expect(text(['a', 'b'], row)).toBe('[1,"x"]');
    expect(text((one: { a: number }, index: number) => one.a + index, row, 4)).toBe('5');
    expect(text(undefined, row)).toBe('{"a":1,"b":"x"}');
  });

  it('tells a number from its text, and parts from one another', () => {
    expect(text('a', { a: 1 })).not.toBe(text('a', { a: '1' }));
    expect(text(['a', 'b'], { a: 'x,y', b: 'z' })).not.toBe(text(['a', 'b'], { a: 'x', b: 'y,z' }));
  });

  it.each([
    ['null', null, 'is null'],
    ['undefined', undefined, 'is undefined'],
    ['an empty text', '', 'is empty'],
    ['blanks', '  ', 'is empty'],
    ['a list', [1], 'is a list'],
    ['an object', { x: 1 }, 'is an object'],
    ['not a number', Number.NaN, 'is NaN'],
  ])('refuses %s as a key', (_name, value, why) => {
    expect(text('k', { k: value })).toMatchObject({ code: 'ROW_KEY_INVALID', why: `field 'k' ${why}` });
    expect(text(['k'], { k: value })).toMatchObject({ code: 'ROW_KEY_INVALID' });
    expect(text(() => value, {})).toMatchObject({ code: 'ROW_KEY_INVALID' });
  });

  verifies('DATA-KEY-4', 'refuses a key function that answers differently, waits or throws', () => {
    let count = 0;
    expect(text(() => count++, {})).toMatchObject({
      code: 'ROW_KEY_UNSTABLE',
      why: 'gave 0 first and 1 on a second call',
    });
    expect(text(async () => 'x', {})).toMatchObject({ why: 'the key function’s value is a promise' });
    const thrower = (): never => {
      throw new Error('no such field');
    };
    expect(text(thrower, {})).toMatchObject({ why: 'the key function threw: no such field' });
  });

  it.each([[[]], [''], [[1]], [['a', 'a']], [7], [{}]])('refuses %j as a key definition', (key) => {
    expect(() => keySpecOf(key, 'leads')).toThrow(expect.objectContaining({ code: 'DATASET_DEFINITION_INVALID' }));
  });

  it('names a row by its key values, else by its number', () => {
    expect(rowName(keySpecOf(['a', 'b'], 'd'), { a: 'x', b: 2 }, 6)).toBe('x,2');
    expect(
      rowName(
        keySpecOf((row: { a: string }) => row.a, 'd'),
        { a: 'y' },
        6,
      ),
    ).toBe('y');
    expect(rowName(keySpecOf(undefined, 'd'), { a: 'x' }, 6)).toBe('#7');
    const fragile = (row: { a: string }): string => row.a.trim();
    expect(rowName(keySpecOf(fragile, 'd'), {}, 6)).toBe('#7');
  });

  it.each([
    ['one value', { kind: 'field', field: 'a' }, 'x@y.z', '"x@y.z"'],
    ['a number', { kind: 'field', field: 'a' }, '17', '17'],
    ['a text of digits', { kind: 'field', field: 'a' }, '007', '"007"'],
    ['joined values', { kind: 'fields', fields: ['a', 'b'] }, 'x,y', '["x","y"]'],
    [
      'joined values with a comma in one',
      { kind: 'fields', fields: ['a', 'b'] },
      'Doe, Jane,acme.test',
      '["Doe, Jane","acme.test"]',
    ],
    ['a JSON list', { kind: 'fields', fields: ['a', 'b'] }, '["x",2]', '["x",2]'],
    ['a list of numbers and texts', { kind: 'fields', fields: ['a', 'b'] }, '1,x', '[1,"x"]'],
  ] as const)('finds what a person means by %s', (_name, plan, typed, canonical) => {
    expect(keyCandidates(plan, typed)).toContain(keyDigest(canonical).slice(0, 32));
  });

  it('knows no text for rows that are told apart by content', () => {
    expect(keyCandidates({ kind: 'content' }, 'x').size).toBe(0);
  });
});
