import { createDataset } from './builder.ts';
import { datasetReader } from './reader.ts';
import type { TestRun } from './test-host.test-support.ts';

export type Row = Record<string, unknown>;

/** The author's chain without its types, so that tests can also write what does not compile. */
export interface Chain {
  withColumn(name: unknown, resolver: unknown, options?: unknown): Chain;
  run(options?: unknown): Promise<{ materialize(): Promise<Row[]> }>;
}

export const dataset = (test: TestRun, items: unknown, key: unknown = 'leads'): Chain =>
  createDataset(test.host, key, items) as unknown as Chain;

/** Facts of a provider's failure. */
export const facts = {
  tool: 'hunter.find',
  provider: 'hunter',
  operation: 'find',
  origin: 'provider',
  category: 'upstream',
} as const;

/** All rows of the run's first dataset, as reports read them. */
export async function readRows(test: TestRun): Promise<readonly Row[]> {
  const [frame] = await test.store.reads.frames(1);
  if (frame === undefined) return [];
  const reader = datasetReader({ reads: test.store.reads, filesDir: '/nowhere', runNo: 1, frame });
  const rows: Row[] = [];
  for await (const piece of reader.rows()) rows.push(...(piece as unknown as Row[]));
  return rows;
}
