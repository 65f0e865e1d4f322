/** The coverage gate: every promise in test/requirements-data.ts has a test that names it. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { LATER, REQUIREMENTS } from '../test/requirements-data.ts';
import { requirementCoverage } from './requirement-coverage.ts';
import { sourceFiles } from './source-files.ts';

const ROOT = join(import.meta.dirname, '..');
const sources = sourceFiles(['src', 'test'])
  .map((file) => ({ path: relative(ROOT, file), text: readFileSync(file, 'utf8') }))
  // The tests of this gate contain seeded claims.
  .filter(({ path }) => !path.startsWith('test/requirements'));
const required: [string, string][] = Object.entries(REQUIREMENTS);
const { claims, missing, unknown, unreadable } = requirementCoverage(sources, {
  required: required.map(([id]) => id),
  later: Object.keys(LATER),
});

for (const [id, text] of required)
  if (missing.includes(id)) process.stdout.write(`no test: ${id.padEnd(24)} ${text}\n`);
for (const { id, file, line } of unknown) process.stdout.write(`unknown id: ${id} at ${file}:${line}\n`);
for (const { file, line } of unreadable) process.stdout.write(`ids are not literals: ${file}:${line}\n`);
process.stdout.write(
  `requirements: ${required.length} promises, ${missing.length} without a test, ${claims.length} tests name one\n`,
);
process.exitCode = missing.length + unknown.length + unreadable.length > 0 ? 1 : 0;
