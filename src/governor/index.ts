export {
  type Budget,
  type BudgetOptions,
  type BudgetOwner,
  type BudgetSnapshot,
  type CreditWaiter,
  createBudget,
  type Owed,
} from './budget.ts';
export type { CreditLedger } from './credit-ledger.ts';
export { createGovernor, type Governor, type GovernorOptions } from './governor.ts';
export type { ResponseHeaders } from './headers.ts';
export type { Permit, PermitOutcome, PermitRequest } from './permit.ts';
export { createPersistenceBreaker, type PersistenceBreaker } from './persistence-breaker.ts';
export type { NamedClaim, PlaceChange, PlaceClaim, PlaceState, PlaceView } from './place-state.ts';
export type { Health } from './provider-breaker.ts';
export {
  memoryRateLogs,
  type RateChange,
  type RateLogs,
  type RateQuery,
  type RateView,
  type SlotMove,
} from './rate-logs.ts';
export {
  createRateState,
  type RateGrant,
  type RateRequest,
  type RateState,
  type RateStateOptions,
} from './rate-state.ts';
export type { ReachState } from './reach.ts';
export { ASIDE_MS, LongWait } from './refusals.ts';
export { createRetryBudget, type RetryBudget, retryDelay } from './retry.ts';
export type { Closing, GateState } from './shared-gate.ts';
export type { AccountSnapshot, RunWait } from './snapshot.ts';
export type { WaitReason } from './waiter.ts';
export type { WindowLimit } from './window.ts';
