import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** Absolute paths of the TypeScript files below folders of the repo, sorted; without fixtures and golden files. */
export function sourceFiles(folders: readonly string[]): string[] {
  return folders
    .map((folder) => join(ROOT, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => join(entry.parentPath, entry.name)),
    )
    .filter((file) => !/\/(node_modules|dist|\.callsheet|golden|fixtures)\//.test(file))
    .sort();
}
