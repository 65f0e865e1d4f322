import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CallsheetError } from '../sdk/index.ts';

/** Where things lie in a workspace. All paths are absolute. */
export interface WorkspacePaths {
  readonly dir: string;
  readonly home: string;
  readonly database: string;
  /** What processes share about limits. */
  readonly rates: string;
  readonly artifacts: string;
  readonly files: string;
  readonly exports: string;
  readonly modules: string;
  readonly secrets: string;
  readonly sandboxLedger: string;
}

export function workspacePaths(dir: string): WorkspacePaths {
  const home = join(dir, '.callsheet');
  return {
    dir,
    home,
    database: join(home, 'callsheet.db'),
    rates: join(home, 'rates.db'),
    artifacts: join(home, 'artifacts'),
    files: join(home, 'files'),
    exports: join(home, 'exports'),
    modules: join(home, 'modules'),
    secrets: join(home, 'secrets.json'),
    sandboxLedger: join(home, 'sandbox-ledger.jsonl'),
  };
}

/** A folder that somebody named. Throws WORKSPACE_NOT_FOUND: a slip of the keyboard must not make an empty workspace. */
export function namedFolder(dir: string): string {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true) return dir;
  throw new CallsheetError('WORKSPACE_NOT_FOUND', `There is no folder ${dir} to be the workspace.`, {
    details: { path: dir },
    next: [`callsheet init ${dir}`, 'Correct --workspace, or CALLSHEET_WORKSPACE where that is set.'],
  });
}

/** Makes the `.callsheet` folder, for the user's eyes only and ignored by git. */
export function makeHome(paths: WorkspacePaths): void {
  try {
    for (const dir of [paths.home, paths.artifacts, paths.files, paths.exports, paths.modules])
      mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(paths.home, '.gitignore'), '*\n', { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && existsSync(paths.modules)) return;
    throw new CallsheetError(
      code === 'ENOSPC' ? 'STORE_FULL' : 'STORE_READ_ONLY',
      `The workspace folder ${paths.home} cannot be written (${code ?? String(error)}).`,
      {
        details: { path: paths.home },
        next: ['Make the folder writable, or choose another with --workspace <dir>.'],
        cause: error,
      },
    );
  }
}
