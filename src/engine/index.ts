export { LocalEngine } from './local/local-engine.ts';
export type { Engine, RunInProgress } from './port.ts';
