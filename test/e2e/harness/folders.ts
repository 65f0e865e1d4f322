import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';

export type Files = Readonly<Record<string, string | Uint8Array>>;

const root = realpathSync(mkdtempSync(join(tmpdir(), 'callsheet-e2e-')));
// Processes without root's power work in some of these folders.
chmodSync(root, 0o755);

afterAll(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;

/** A folder far from this repository, without a package.json or node_modules above it; ends with the test file. */
export function folder(files: Files = {}): string {
  const dir = join(root, `w${++folders}`);
  mkdirSync(dir);
  putFiles(dir, files);
  return dir;
}

export function putFiles(dir: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

/** A folder that all tests of this machine share. */
export function machineFolder(name: string): string {
  const dir = join(tmpdir(), 'callsheet-e2e-shared', name);
  mkdirSync(dir, { recursive: true });
  return dir;
}

const EXAMPLES = join(import.meta.dirname, '../../../examples');

/** The workspace of the demo, with the first so many rows of its CSV. */
export function demoFiles(rows: number): Files {
  const read = (name: string): string => readFileSync(join(EXAMPLES, name), 'utf8');
  const leads = read('leads.csv').split('\n');
  if (leads.length <= rows) throw new Error(`examples/leads.csv has fewer than ${rows} rows`);
  return {
    'callsheet.config.ts': read('callsheet.config.ts'),
    'tools/company-and-verifier.ts': read('tools/company-and-verifier.ts'),
    'tools/email-finders.ts': read('tools/email-finders.ts'),
    'find-work-email.play.ts': read('find-work-email.play.ts'),
    'leads.csv': `${leads.slice(0, rows + 1).join('\n')}\n`,
  };
}
