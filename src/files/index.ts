export { type ColumnMapping, type ColumnRequest, mapColumns, rowMapper } from './columns.ts';
export { type CsvWriter, type CsvWriterOptions, openCsvWriter, type Written } from './csv-out.ts';
export { type JsonlWriter, openJsonlWriter } from './jsonl-out.ts';
export { type ReadStagedOptions, readStaged } from './read.ts';
export { describeReport } from './report.ts';
export { exportHeader, stageFile } from './stage.ts';
export { openStaged } from './staged.ts';
export type {
  EncodingFinding,
  FileFormat,
  ImportReport,
  LineBreakCounts,
  LinesFinding,
  RaggedFinding,
  RaggedRow,
  RenamedHeader,
  Row,
  StagedFile,
  StageOptions,
} from './types.ts';
