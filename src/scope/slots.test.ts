import { expect, it } from 'vitest';
import { Slots } from './slots.ts';

it('holds what was put and not freed, and gives a slot that was freed to the next', () => {
  const slots = new Slots<string>();
  const [a, b] = [slots.put('a'), slots.put('b')];
  slots.free(a);
  slots.free(a);
  expect([...slots]).toEqual(['b']);
  expect([slots.at(a), slots.at(b)]).toEqual([undefined, 'b']);
  expect(slots.put('c')).toBe(a);
  expect(slots.put('d')).not.toBe(b);
  expect([...slots].sort()).toEqual(['b', 'c', 'd']);
});

it('takes no notice of slots that were never given', () => {
  const slots = new Slots<string>();
  slots.free(-1);
  slots.free(3);
  expect([...slots, slots.at(-1)]).toEqual([undefined]);
  expect(slots.put('a')).toBe(0);
});
