import { readFileSync } from 'node:fs';

/** This release, read here too so that `--version` need not load the workspace. */
export function release(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
