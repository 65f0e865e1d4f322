import { expect, it } from 'vitest';
import { didYouMean, nearestNames } from './nearest.ts';

it('finds what differs by a slip, best first, and what holds the name', () => {
  expect(nearestNames('hunter.email_findr', ['apollo.people', 'hunter.email_find', 'hunter.email_finder'])).toEqual([
    'hunter.email_find',
    'hunter.email_finder',
  ]);
  expect(nearestNames('email', ['find-work-email', 'phone'])).toEqual(['find-work-email']);
  expect(nearestNames('x', ['completely-different'])).toEqual([]);
});

it('says nothing where nothing is near', () => {
  expect(didYouMean('zzzz', ['apollo.people'])).toBe('');
  expect(didYouMean('a', [])).toBe('');
});
