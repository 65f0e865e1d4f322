export { LocalEngine } from './local/local-engine.ts';
export { isGone } from './local/owner.ts';
export type { Engine, RunInProgress } from './port.ts';
