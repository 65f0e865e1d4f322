import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { fileDataset } from '../dataset/index.ts';
import {
  type ColumnMapping,
  describeReport,
  mapColumns,
  openStaged,
  type StagedFile,
  stageFile,
} from '../files/index.ts';
import type { Scope } from '../scope/index.ts';
import { CallsheetError, type CsvOptions, type PlayDataset } from '../sdk/index.ts';
import type { AttemptContext } from './attempt-context.ts';
import { boundaryIdentity } from './boundary.ts';

type CsvRow = Record<string, string>;

/** `ctx.csv`: a dataset over a file that is staged once; a later attempt reads the staged copy, whatever the file is now. */
export async function csvDataset(
  context: AttemptContext,
  scope: Scope,
  asked: { path: unknown; options: CsvOptions },
): Promise<PlayDataset<CsvRow>> {
  context.ending.assertGoing();
  const { path, options } = asked;
  if (typeof path !== 'string' || path === '')
    throw new CallsheetError(
      'FILE_NOT_FOUND',
      `ctx.csv takes the path of a file; it was given ${JSON.stringify(path) ?? 'undefined'}.`,
      {
        next: ['Pass --csv <file>, or --input \'{"csv":"leads.csv"}\'.'],
      },
    );
  const { limit } = context.options;
  const encoding = options.encoding ?? context.options.encoding ?? undefined;
  const { key, inputDigest } = boundaryIdentity(scope, {
    kind: 'csv',
    label: path,
    input: { options: { ...options }, limit },
  });
  const recorded = context.boundaries.find(scope, key);
  const { filesDir } = context.deps;
  const opened = (staged: StagedFile, mapping: ColumnMapping): PlayDataset<CsvRow> =>
    fileDataset<CsvRow>({ staged, filesDir, mapping, limit });
  if (recorded !== undefined) {
    const staged = await openStaged(filesDir, JSON.parse(recorded.value).digest as string);
    return opened(staged, mappingOf(staged, options));
  }
  const staged = await stageFile(resolvePath(context, path), {
    filesDir,
    ...(encoding !== undefined && { encoding }),
    ...(options.delimiter !== undefined && { delimiter: options.delimiter }),
  });
  const mapping = mappingOf(staged, options);
  context.files.largest = Math.max(context.files.largest, staged.rows);
  for (const line of describeReport(staged.report)) context.emit({ type: 'csv.report', message: line });
  await context.boundaries.record(scope, {
    key,
    kind: 'csv',
    label: path,
    path: scope.path,
    inputDigest,
    state: 'resolved',
    value: JSON.stringify({
      digest: staged.digest,
      name: staged.name,
      rows: limit === null ? staged.rows : Math.min(limit, staged.rows),
      sourcePath: staged.sourcePath,
    }),
    at: context.deps.clock.now(),
  });
  return opened(staged, mapping);
}

function mappingOf(staged: StagedFile, options: CsvOptions): ColumnMapping {
  const { columns, rename, required } = options;
  return mapColumns(staged.header, {
    ...(columns !== undefined && { columns }),
    ...(rename !== undefined && { rename }),
    ...(required !== undefined && { required }),
  });
}

/** As the person who started the run wrote it: from their folder, else from the play's. */
function resolvePath(context: AttemptContext, path: string): string {
  if (isAbsolute(path)) return path;
  const { cwd, playDir } = context.options;
  const fromCwd = resolve(cwd, path);
  if (existsSync(fromCwd) || playDir === null) return fromCwd;
  const besidePlay = join(playDir, path);
  return existsSync(besidePlay) ? besidePlay : fromCwd;
}
