import { lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digest } from '../scope/index.ts';

/** Folders for paid answers that the store cannot take. */
export interface RescuePlaces {
  /** `.callsheet/rescue`. */
  readonly dir: string;
  /** A folder of this workspace and user in the system's temporary folder. */
  readonly temp: string;
}

export function rescuePlaces(home: string, temporary: string = tmpdir()): RescuePlaces {
  const own = `${process.getuid?.() ?? ''}-${digest(home).slice(0, 20)}`;
  return { dir: join(home, 'rescue'), temp: join(temporary, `callsheet-rescue-${own}`) };
}

/** True for a folder that only this user can put files into: anybody else's "answers" are none. */
export function isOwnFolder(dir: string): boolean {
  const stats = lstatSync(dir, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return false;
  return process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o022) === 0);
}
