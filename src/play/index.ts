export {
  type ArtifactMeta,
  type ArtifactPlay,
  type OpenedArtifact,
  openArtifact,
  readMeta,
  saveArtifact,
} from './artifact.ts';
export { type Bundle, type BundleOptions, bundleModule, stopBundler } from './bundle.ts';
export type { ShownCalls } from './check/call-sums.ts';
export { type CheckOptions, checkPlay, type PlayCheck } from './check/check.ts';
export { FINDINGS, type Finding, type FindingCode } from './check/finding.ts';
export type { PlannedColumn, PlannedCsv, PlannedDataset, PlannedLeg, PlayPlan } from './check/plan.ts';
export type { ExportedPlay } from './choose.ts';
export { describePlay, type PlayDescription } from './describe.ts';
export { CONTRACT_EDITION, editionOf } from './edition.ts';
export type { ModuleExports } from './import-code.ts';
export { validatePlayInput } from './input.ts';
export { type LoadedPlay, type LoadOptions, loadModule, loadPlay, type ModuleOptions } from './load.ts';
export { installSdk } from './shim.ts';
export { authorPlace, mapStack, type SourcePlace } from './stack.ts';
export type { SourceMessage } from './syntax-error.ts';
