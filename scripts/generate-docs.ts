/** Writes the pages of docs/ that are generated from code. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GENERATED_PAGES } from './generated-docs.ts';

for (const [path, page] of Object.entries(GENERATED_PAGES)) {
  writeFileSync(join(import.meta.dirname, '..', path), page());
  process.stdout.write(`wrote ${path}\n`);
}
