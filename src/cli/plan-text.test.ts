import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { PlanJson } from '../report/index.ts';
import { planLines } from './plan-text.ts';

verifies('PLAN-UNLIMITED-1', 'a plan names a time only where rates are declared', () => {
  const none = { least: 0, expected: 0, most: 0 };
  const lineOf = (seconds: PlanJson['seconds']): string | undefined =>
    planLines({ play: 'p', datasets: [], credits: none, seconds, notes: [] } as unknown as PlanJson).at(-1);
  expect(lineOf({ atDeclaredLimits: 0, isDeclared: false })).toBe('time at the declared limits: none declared');
  expect(lineOf({ atDeclaredLimits: 0, isDeclared: true })).toBe('time at the declared limits: 0 s');
});
