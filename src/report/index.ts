export type { AttemptJson } from './attempt-json.ts';
export { columnAt } from './credit-places.ts';
export {
  type DoubtJson,
  doubtsOf,
  failedRows,
  operationsInDoubt,
} from './doubts.ts';
export { type ErrorGroup, type ErrorsJson, errorsReport } from './errors.ts';
export { type EventJson, eventsOf } from './events.ts';
export { type Exported, type ExportedCredits, type ExportOptions, exportDataset } from './export.ts';
export { knownRow } from './known-row.ts';
export { exportCommands, shellWord } from './next.ts';
export { assertOutputPath, inputPathsOf } from './output.ts';
export { pilotOf } from './pilot.ts';
export { type PlanJson, type PlanLegJson, planJson } from './plan.ts';
export type { Experience, PlanFacts } from './plan-legs.ts';
export type { AccountJson } from './published.ts';
export type { ReportSource } from './reads.ts';
export {
  receiptById,
  receiptNumber,
  receiptsList,
} from './receipts.ts';
export { resumeCommands } from './resume-commands.ts';
export { ofRun, type RunJson, runJson, type ShownStatus, shownStatus, statusIn } from './run-json.ts';
export { saidBy } from './said.ts';
export {
  type ChildJson,
  type DatasetJson,
  type LiveFacts,
  type RunReport,
  runReport,
  runsList,
  type StepJson,
  type ToolCallsJson,
} from './show.ts';
export { type PhaseJson, TIMINGS_EVENT, type TimingsJson, timingsOf } from './timings.ts';
export type { UnknownCallJson, UnknownJson } from './unknown-credits.ts';
export type { OpenWaitJson, WaitingJson } from './waiting.ts';
export { type WhyJson, whyRow } from './why.ts';
export { type CallJson, type WhyRunJson, whyRun } from './why-run.ts';
