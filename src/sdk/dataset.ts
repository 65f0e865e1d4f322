import type { RowCtx, StepsProgram } from './row-ctx.ts';

/**
 * Rows under a key: a handle that is read asynchronously. It streams from the store and is never all in memory,
 * so it is no array: there is no `length`, no index and no spread.
 */
export interface PlayDataset<Row> {
  readonly key: string;
  count(): Promise<number>;
  first(): Promise<Row | undefined>;
  at(index: number): Promise<Row | undefined>;
  /** The first `n` rows (default 10). */
  peek(n?: number): Promise<Row[]>;
  /** All rows, or the first `limit`, as an array in memory. */
  materialize(limit?: number): Promise<Row[]>;
  /** A lazy view of the rows for which the callback resolves to true. */
  filter(keep: (row: Row, index: number) => Promise<boolean>): PlayDatasetView<Row>;
  /** A lazy view of what the callback resolves to. */
  map<Out>(change: (row: Row, index: number) => Promise<Out>): PlayDatasetView<Out>;
  [Symbol.asyncIterator](): AsyncIterator<Row>;
}

export type PlayDatasetView<Row> = Omit<PlayDataset<Row>, 'key'>;

export type DatasetItems<Row> =
  | readonly Row[]
  | Iterable<Row>
  | AsyncIterable<Row>
  | PlayDataset<Row>
  | PlayDatasetView<Row>
  | Promise<PlayDataset<Row>>;

export type ColumnFn<Row, Value> = (row: Row, ctx: RowCtx, index: number) => Value | Promise<Value>;

export interface ColumnSpec<Row, Value> {
  readonly run: (args: {
    readonly row: Row;
    readonly ctx: RowCtx;
    readonly index: number;
    /** The row's value from the last run of this play over this dataset, or undefined. */
    readonly previousCell: Awaited<Value> | undefined;
  }) => Value | Promise<Value>;
  readonly runIf?: (row: Row) => boolean | Promise<boolean>;
}

export interface ColumnOptions {
  readonly description?: string;
  /** Allows the column to take the place of an input column of that name. */
  readonly replace?: boolean;
}

export type RowKey<Row> =
  | (keyof Row & string)
  | readonly (keyof Row & string)[]
  | ((row: Row, index: number) => string | number | boolean);

export interface DatasetRunOptions<Row> {
  readonly key?: RowKey<Row>;
  readonly description?: string;
  readonly onRowError?: 'isolate' | 'fail';
  readonly mode?: 'upsert' | 'net_new';
  /** Rows in flight at once; default 64. */
  readonly concurrency?: number;
  /** How many rows may wait at once before no further one starts; default 1,000. */
  readonly maxParked?: number;
  /** Accepted so that plays of the hosted product load; every column is kept here. */
  readonly undrawnColumns?: unknown;
}

export interface DatasetBuilder<Source, Row> {
  withColumn<Name extends string, Value>(
    name: Name,
    resolver: ColumnFn<Row, Value> | ColumnSpec<Row, Value> | StepsProgram<Row, Value>,
    options?: ColumnOptions,
  ): DatasetBuilder<Source, Omit<Row, Name> & { readonly [K in Name]: Awaited<Value> | null }>;
  run(options?: DatasetRunOptions<Source>): Promise<PlayDataset<Row>>;
}
