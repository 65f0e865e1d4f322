export { type CommitterOptions, createCommitter } from './group-commit.ts';
export { MemoryStore } from './memory/store.ts';
export type {
  BoundaryEntry,
  BoundaryKind,
  CallEntry,
  CallReads,
  Committer,
  DatasetReads,
  FrameRecord,
  Instant,
  JsonText,
  NewReceipt,
  NewRun,
  ReceiptFilter,
  ReceiptQuery,
  ReportReads,
  RowRecord,
  RowState,
  RunEvent,
  RunReads,
  RunRecord,
  RunStatus,
  Store,
  StoredReceipt,
  ToolTotals,
  Unit,
  UnitOutcome,
  Write,
} from './port.ts';
export { StoreConflict } from './port.ts';
export { receiptName } from './receipt-name.ts';
export { openSqliteStore, type SqliteStoreOptions } from './sqlite/open.ts';
export type { WriteOf } from './write-of.ts';
