export type { AttemptContext, AttemptView, RunDeps } from './attempt-context.ts';
export { Ending } from './ending.ts';
export { type AttemptOrder, executeAttempt } from './execute-attempt.ts';
export type { Outcome } from './outcome.ts';
export { type PlanCounts, type PlanOrder, planAttempt } from './plan.ts';
export { progressOf, type RunProgress } from './progress.ts';
export type { RunOptions } from './run-options.ts';
export { TreeBudgets } from './tree-budget.ts';
export { IN_PLACE_MS } from './wait.ts';
