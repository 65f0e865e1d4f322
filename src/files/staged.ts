import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';
import { errorCode } from './source.ts';
import { META_FILE } from './spool.ts';
import type { StagedFile } from './types.ts';

/** Rises when the layout of staged copies changes; part of every digest, so that old copies are not taken for new ones. */
export const STAGING_EDITION = 1;

/** How a row lies in rows.jsonl: as an array of cells in the header's order, or as the object itself. */
export type StoredShape = 'cells' | 'objects';

export interface StagedMeta {
  readonly edition: number;
  readonly shape: StoredShape;
  readonly dataBytes: number;
  readonly file: StagedFile;
}

/** The staged copy of that digest, for a resume. Throws STAGED_FILE_MISSING. */
export async function openStaged(filesDir: string, digest: string): Promise<StagedFile> {
  return (await readMeta(filesDir, digest)).file;
}

/** Like `openStaged`, with what only this room needs to know. */
export async function readMeta(filesDir: string, digest: string): Promise<StagedMeta> {
  if (!/^[0-9a-f]{64}$/.test(digest)) throw stagedMissing(filesDir, digest, 'it has no valid digest');
  const text = await readFile(join(filesDir, digest, META_FILE), 'utf8').catch((cause: unknown) => {
    throw stagedMissing(filesDir, digest, `its description cannot be read: ${errorCode(cause) ?? 'unknown cause'}`);
  });
  const meta = parsed(text);
  if (meta === undefined) throw stagedMissing(filesDir, digest, 'its description is damaged');
  if (meta.edition !== STAGING_EDITION) {
    throw stagedMissing(filesDir, digest, `it was written by another release (layout ${meta.edition})`);
  }
  return meta;
}

function parsed(text: string): StagedMeta | undefined {
  try {
    const meta = JSON.parse(text) as StagedMeta;
    return typeof meta.edition === 'number' && Array.isArray(meta.file.header) ? meta : undefined;
  } catch {
    return undefined;
  }
}

/** STAGED_FILE_MISSING with what is wrong with the copy. */
export function stagedMissing(filesDir: string, digest: string, why: string): CallsheetError {
  return new CallsheetError(
    'STAGED_FILE_MISSING',
    `The staged copy ${digest.slice(0, 12)} in ${filesDir} is unusable: ${why}.`,
    {
      details: { folder: filesDir, digest },
      next: ['Put the copy back from a backup, or start a new run with the original file.'],
    },
  );
}
