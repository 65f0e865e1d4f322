import { readFileSync } from 'node:fs';

/** This release's version, from the package's own manifest (two folders up, in `src` and in `dist`). */
export const RELEASE: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
