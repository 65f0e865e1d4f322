export { CONFIG_NAMES, findWorkspace } from './config.ts';
export type { LocalSandbox } from './local-sandbox.ts';
export { type OpenOptions, openWorkspace, type Workspace } from './open.ts';
export { type WorkspacePaths, workspacePaths } from './paths.ts';
export { planRun } from './plan.ts';
export { RELEASE } from './release.ts';
export { existingRun, newRun, type RunOrder, resumeOptions } from './runs.ts';
