/** Builds `dist/` from `src/`: tsc, then the files that are read at run time and are no TypeScript. */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');
const BIN = join(DIST, 'cli/bin.js');

rmSync(DIST, { recursive: true, force: true });
try {
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
} catch {
  process.stderr.write('build: tsc found errors; dist/ may be incomplete. `npm run types` shows them all.\n');
  process.exit(1);
}

for (const entry of readdirSync(SRC, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || /\.[cm]?ts$|\.md$/.test(entry.name)) continue;
  const target = join(DIST, relative(SRC, entry.parentPath), entry.name);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(entry.parentPath, entry.name), target);
}
if (existsSync(BIN)) chmodSync(BIN, 0o755);
