export { type Budget, type BudgetOptions, type BudgetSnapshot, type CreditWaiter, createBudget } from './budget.ts';
export { createGovernor, type Governor, type GovernorOptions } from './governor.ts';
export type { ResponseHeaders } from './headers.ts';
export type { Permit, PermitOutcome, PermitRequest } from './permit.ts';
export { createPersistenceBreaker, type PersistenceBreaker } from './persistence-breaker.ts';
export type {
  RateGrant,
  RateLog,
  RateRequest,
  RateState,
} from './rate-state.ts';
export { createRetryBudget, type RetryBudget, retryDelay } from './retry.ts';
export type { AccountSnapshot, RunWait } from './snapshot.ts';
export type { WaitReason } from './waiter.ts';
export type { WindowLimit } from './window.ts';
