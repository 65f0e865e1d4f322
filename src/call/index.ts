export { Claims } from './claims.ts';
export type { CallProcess, CallRun } from './env.ts';
export { executeCall } from './execute.ts';
export { Journal } from './journal.ts';
export { Lookup } from './lookup.ts';
export { type PlannedCall, Planning } from './planning.ts';
export { Settlements } from './settlements.ts';
