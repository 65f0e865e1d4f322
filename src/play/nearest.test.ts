import { expect, it } from 'vitest';
import { didYouMean, nearest } from './nearest.ts';

it('finds what differs by a slip, best first, and what holds the name', () => {
  expect(nearest('hunter.email_findr', ['apollo.people', 'hunter.email_find', 'hunter.email_finder'])).toEqual([
    'hunter.email_find',
    'hunter.email_finder',
  ]);
  expect(nearest('email', ['find-work-email', 'phone'])).toEqual(['find-work-email']);
  expect(nearest('x', ['completely-different'])).toEqual([]);
});

it('says nothing where nothing is near', () => {
  expect(didYouMean('zzzz', ['apollo.people'])).toBe('');
  expect(didYouMean('a', [])).toBe('');
});
