export { createDataset } from './builder.ts';
export { releasedClaims } from './claims.ts';
export { fileDataset } from './file-dataset.ts';
export { describeHandle, isDatasetHandle } from './handle.ts';
export type { DatasetHost, DatasetProgress } from './host.ts';
export { frameName, readPlan } from './plan.ts';
export { runSteps } from './program.ts';
export {
  type DatasetReader,
  type DatasetReaderOptions,
  type DatasetRow,
  type DatasetShape,
  datasetReader,
} from './reader.ts';
export type { LegError, LegTrace } from './record.ts';
export { RunDatasets } from './registry.ts';
export type { RowError } from './row-error.ts';
