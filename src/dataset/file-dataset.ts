import { type ColumnMapping, readStaged, rowMapper, type StagedFile } from '../files/index.ts';
import type { PlayDataset } from '../sdk/index.ts';
import { datasetHandle } from './handle.ts';
import type { FilePlan } from './plan.ts';

export interface FileDatasetOf {
  readonly staged: StagedFile;
  readonly mapping: ColumnMapping;
  /** Rows taken from the file's start (`--limit`); null for all. */
  readonly limit: number | null | undefined;
  readonly filesDir: string;
}

/**
 * What `ctx.csv` returns: a dataset over a staged file, with the code's own column names. `ctx.dataset` over it reads the
 * staged copy in place instead of writing the rows again.
 */
export function fileDataset<Row = unknown>(of: FileDatasetOf): PlayDataset<Row> {
  const { staged, filesDir, mapping } = of;
  const count = Math.min(staged.rows, of.limit ?? staged.rows);
  const file: FilePlan = {
    kind: 'file',
    digest: staged.digest,
    name: staged.name,
    mapping,
    header: codeHeader(staged.header, mapping),
    rows: count,
  };
  const map = rowMapper(mapping);
  return datasetHandle(
    staged.name,
    {
      count: async () => count,
      async *rows(from, limit) {
        for await (const rows of readStaged(staged, { filesDir, from, to: Math.min(count, from + limit) }))
          yield rows.map(map);
      },
    },
    file,
  ) as PlayDataset<Row>;
}

/** The file's columns less those that a name of the code replaced, then the code's own names. */
function codeHeader(header: readonly string[], mapping: ColumnMapping): readonly string[] {
  const replaced = new Set(mapping.replaced.filter((name) => !Object.hasOwn(mapping.headerOf, name)));
  return [...new Set([...header.filter((name) => !replaced.has(name)), ...Object.keys(mapping.headerOf)])];
}
