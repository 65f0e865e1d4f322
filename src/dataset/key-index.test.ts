import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { hexDigest } from '../scope/index.ts';
import { findKeys, KeyIndex, keyHex } from './key-index.ts';

const HEAD = '00112233445566aa';

describe('the index of row keys', () => {
  verifies('DATA-KEY-5', 'two keys whose first 64 bits are equal are two rows, however many there are', () => {
    const index = new KeyIndex();
    const hex = (number: number): string => `${HEAD}${number.toString(16).padStart(16, '0')}`;
    for (let number = 0; number < 300; number++) expect(index.append(hex(number))).toBe(-1);
    expect(index.append(hex(41))).toBe(41);
  });

  verifies('DATA-KEY-3', 'it finds the first row of every key, as a map does, over any sequence', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 400 }), (numbers) => {
        const index = new KeyIndex();
        const first = new Map<number, number>();
        numbers.forEach((number, ordinal) => {
          const hex = number.toString(16).padStart(32, '5');
          expect(index.append(hex)).toBe(first.get(number) ?? -1);
          if (!first.has(number)) first.set(number, ordinal);
        });
      }),
    );
  });

  verifies('DATA-MEMORY-1', 'keys beyond a block of 65,536 rows are found and copied out across its edge', () => {
    const index = new KeyIndex();
    const hex = (number: number): string => hexDigest(String(number)).slice(0, 32);
    for (let number = 0; number < 70_000; number++) index.append(hex(number));
    expect(index.append(hex(65_536))).toBe(65_536);
    const bytes = index.bytes(65_530, 10);
    expect(Array.from({ length: 10 }, (_, row) => keyHex(bytes, row))).toEqual(
      Array.from({ length: 10 }, (_, row) => hex(65_530 + row)),
    );
    expect([...findKeys(bytes, new Set([hex(65_535), hex(1)]))]).toEqual([[5, hex(65_535)]]);
  });

  verifies('DATA-KEY-1', 'a row that was renamed to an occurrence leaves the first row findable', () => {
    const index = new KeyIndex();
    const content = 'ab'.repeat(16);
    expect(index.append(content)).toBe(-1);
    expect(index.append(content)).toBe(0);
    index.renameLast('cd'.repeat(16));
    expect(index.append(content)).toBe(0);
    expect([index.countRepeat(0), index.countRepeat(0), index.countRepeat(1)]).toEqual([1, 2, 1]);
    expect(keyHex(index.bytes(1, 1), 0)).toBe('cd'.repeat(16));
  });
});
