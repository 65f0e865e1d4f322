import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { PlanJson } from '../report/index.ts';
import { planLines } from './plan-text.ts';

verifies('PLAN-MOST-1', 'names a most only where the play was followed to its end', () => {
  const plan = {
    ...{ play: 'enrich', datasets: [], credits: { least: 1, expected: 2, most: 3 } },
    ...{ seconds: { atDeclaredLimits: 0, isDeclared: false }, sample: null, pilot: null, notes: [] },
  } as unknown as PlanJson;
  const told = (isWhole: boolean): string | undefined =>
    planLines({ ...plan, isWhole }).find((line) => line.startsWith('credits'));
  expect(told(true)).toBe('credits: 1 – 2 – 3 (least – expected – most)');
  expect(told(false)).toBe('credits: 1 – 2 – 3 or more (least – expected – most)');
});
