export { ChildRuns } from './local/child-runs.ts';
export { LocalEngine } from './local/local-engine.ts';
export { isGone, thisOwner } from './local/owner.ts';
export { Worker, type WorkerEvent, type WorkerOptions, type WorkerSummary } from './local/worker.ts';
export type { Engine, RunInProgress, StartOrder } from './port.ts';
