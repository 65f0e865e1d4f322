export { type ErrorGroup, type ErrorsJson, errorsReport } from './errors.ts';
export { type EventJson, eventsOf } from './events.ts';
export { type Exported, type ExportOptions, exportDataset } from './export.ts';
export { assertOutputPath, inputPathsOf } from './output.ts';
export {
  type CreditsJson,
  type Experience,
  type PlanFacts,
  type PlanJson,
  type PlanLegJson,
  planJson,
} from './plan.ts';
export type { ReportSource } from './reads.ts';
export {
  receiptById,
  receiptNumber,
  receiptsList,
} from './receipts.ts';
export { type RunJson, type ShownStatus, shownStatus } from './run-json.ts';
export {
  type DatasetJson,
  type LiveFacts,
  type RunReport,
  runReport,
  runsList,
  type StepJson,
  statusIn,
  type ToolCallsJson,
} from './show.ts';
export { type AttemptJson, type WhyJson, whyRow } from './why.ts';
