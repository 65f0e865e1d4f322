import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { freshAmong } from './forecast.ts';

/** Numbers from 0 up to 1, the same ones for a seed (a linear congruential generator, constants of Numerical Recipes). */
function numbers(seed: number): () => number {
  let state = seed * 7_919 + 1;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

function firstAsked(questions: readonly number[]): boolean[] {
  const seen = new Set<number>();
  return questions.map((question) => seen.size < seen.add(question).size);
}

verifies(
  'PLAN-EXPECTED-1',
  'of a pool that a pilot has half seen few questions are left, whatever chance showed of it',
  () => {
    const errors: number[] = [];
    for (let seed = 1; seed <= 40; seed++) {
      const next = numbers(seed);
      const questions = Array.from({ length: 5_000 }, () => Math.floor(next() * 600));
      const fresh = firstAsked(questions);
      const expected = freshAmong(4_550, fresh.slice(0, 450), true);
      const actual = fresh.slice(450).filter(Boolean).length;
      // Each costs 5 where another leg costs 1 a row: a fifth of the whole is some 240 of them.
      errors.push(Math.abs(expected - actual));
    }
    const near = errors.filter((error) => error < 240).length;
    expect(near).toBeGreaterThanOrEqual(36);
  },
);

verifies('PLAN-EXPECTED-1', 'where only neighbours ask the same, new questions go on coming', () => {
  const fresh = firstAsked(Array.from({ length: 450 }, (_, call) => Math.floor(call / 1.42)));
  const share = fresh.filter(Boolean).length / fresh.length;
  expect(freshAmong(4_550, fresh, true)).toBeGreaterThan(0.9 * share * 4_550);
});
