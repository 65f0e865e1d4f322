import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HashTable } from './hash-table.ts';

it('finds what a map of lists finds, and sorts its hashes', () => {
  // Few distinct hashes, many of which fall on one slot, and some at the end, so that they wrap around.
  const hash = fc.oneof(
    fc.nat(20),
    fc.nat(20).map((at) => at * 1_024 + 1_020),
    fc.maxSafeNat().map((at) => at % 2 ** 48),
  );
  fc.assert(
    fc.property(fc.array(hash, { maxLength: 3_000 }), (hashes) => {
      const table = new HashTable();
      const map = new Map<number, number[]>();
      for (const [at, of] of hashes.entries()) {
        table.add(of, at + 1);
        map.set(of, [...(map.get(of) ?? []), at + 1]);
      }
      expect(table.size).toBe(hashes.length);
      expect([...table.sorted()]).toEqual([...map.keys()].sort((a, b) => a - b));
      for (const of of [...map.keys(), 7, 2 ** 48 - 1]) {
        const found: number[] = [];
        table.find(of, found);
        expect(found).toEqual(map.get(of) ?? []);
      }
    }),
    { numRuns: 50 },
  );
});

it('keeps the order of ids through growing', () => {
  const table = new HashTable();
  for (let id = 1; id <= 5_000; id++) table.add(id % 3 === 0 ? 1_023 : id * 77, id);
  const found: number[] = [];
  table.find(1_023, found);
  expect(found).toEqual(Array.from({ length: 1_666 }, (_, at) => (at + 1) * 3));
});
