export { type CommitterOptions, createCommitter } from './group-commit.ts';
export { isInDoubt } from './in-doubt.ts';
export { MemoryStore } from './memory/store.ts';
export type {
  CallReads,
  Committer,
  DatasetReads,
  LegCounts,
  ReceiptFilter,
  ReceiptQuery,
  ReportReads,
  RunReads,
  Store,
  ToolTotals,
  Unit,
  UnitOutcome,
} from './port.ts';
export { StoreConflict } from './port.ts';
export { callName, jobOfStart, receiptName, typedCall } from './receipt-name.ts';
export { creditsNotSettled, type RecordedTry, recordedTries } from './recorded-tries.ts';
export type {
  BatchPlace,
  BoundaryEntry,
  BoundaryKind,
  CallEntry,
  CallInRun,
  CallSource,
  FrameRecord,
  Instant,
  JsonText,
  KnownInFamily,
  NewReceipt,
  NewRun,
  NewSignal,
  NewWait,
  OperationRecord,
  RowRecord,
  RowState,
  RunEvent,
  RunRecord,
  RunStatus,
  SignalOutcome,
  StoredReceipt,
  TimeoutPolicy,
  WaitRecord,
  WriteInRun,
} from './records.ts';
export { DAY_LEDGER, treeLedger } from './sqlite/left-credits.ts';
export { openSqliteStore, type SqliteStoreOptions } from './sqlite/open.ts';
export { openRates, type Rates } from './sqlite/rates.ts';
export type { RatesOptions } from './sqlite/rates-file.ts';
export { type LeftTry, leftTries, type OpenTry, type TakenAs, type TryLog } from './sqlite/try-log.ts';
export type { WriteOf } from './write-of.ts';
export type { Write } from './writes.ts';
