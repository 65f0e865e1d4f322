import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { CallsheetError } from '../sdk/index.ts';
import { type ImportReport, type Row, readStaged, type StagedFile, type StageOptions, stageFile } from './index.ts';

export interface StagedContent {
  readonly staged: StagedFile;
  readonly rows: Row[];
  readonly report: ImportReport;
}

/** A temporary folder for each test of a file; `files` is where staged copies go. */
export class StagingFolder {
  path = '';
  files = '';

  constructor() {
    beforeEach(async () => {
      this.path = await mkdtemp(join(tmpdir(), 'callsheet-files-'));
      this.files = join(this.path, 'files');
    });
    afterEach(() => rm(this.path, { recursive: true, force: true }));
  }

  /** Writes the content to a file of that name, stages it and reads all rows back. */
  async stage(
    content: string | Buffer,
    options: Partial<StageOptions> = {},
    name = 'leads.csv',
  ): Promise<StagedContent> {
    const path = join(this.path, name);
    await writeFile(path, content);
    const staged = await stageFile(path, { filesDir: this.files, ...options });
    const rows: Row[] = [];
    for await (const chunk of readStaged(staged, { filesDir: this.files })) rows.push(...chunk);
    return { staged, rows, report: staged.report };
  }
}

/** The CallsheetError that the work fails with. */
export async function failure(work: Promise<unknown>): Promise<CallsheetError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof CallsheetError) return error;
  throw new Error(`expected a CallsheetError, got ${String(error)}`);
}
