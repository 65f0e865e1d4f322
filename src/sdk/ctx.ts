import type { DatasetBuilder, DatasetItems, PlayDataset } from './dataset.ts';
import type { JsonObject } from './json.ts';
import type { RowCtx } from './row-ctx.ts';

export interface CsvOptions {
  /** `{ canonical: 'Header' | ['h1', 'h2'] }`: names for the code; the export keeps the file's own. */
  readonly columns?: Readonly<Record<string, string | readonly string[]>>;
  readonly rename?: Readonly<Record<string, string>>;
  /** Columns that must be there before the first paid call. */
  readonly required?: readonly string[];
  readonly description?: string;
  readonly encoding?: string;
  readonly delimiter?: string;
}

export interface PlayCtx<Input = JsonObject> extends RowCtx {
  /** The run's input, deeply frozen. */
  readonly input: Input;
  csv<Row = Record<string, string>>(path: string, options?: CsvOptions): Promise<PlayDataset<Row>>;
  dataset<Row>(key: string, items: DatasetItems<Row>): DatasetBuilder<Row, Row>;
  readonly customerDb: { query(sql: string, options?: JsonObject): Promise<PlayDataset<JsonObject>> };
}
