/**
 * The layer rule: dependency-cruiser over `src/`, then over a scratch tree of seeded wrong imports, each of which has to
 * be caught by the rule that it breaks. A rule that catches nothing is worse than none.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: string;
  readonly why: string;
}

interface CruiseResult {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly {
      readonly from: string;
      readonly to: string;
      readonly rule: { readonly name: string };
      readonly comment?: string;
    }[];
  };
}

async function cruise(folder: string): Promise<{ files: number; violations: Violation[] }> {
  const bin = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const config = await import(join(ROOT, '.dependency-cruiser.cjs'));
  const comments = new Map<string, string>(
    config.default.forbidden.map((rule: { name: string; comment: string }) => [rule.name, rule.comment]),
  );
  const text = await new Promise<string>((resolve, reject) => {
    const args = [bin, '--config', join(ROOT, '.dependency-cruiser.cjs'), '--output-type', 'json', 'src'];
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      // It exits with the number of violations; only an empty output is a failure to run.
      if (stdout === '') reject(new Error(`dependency-cruiser did not run: ${stderr || error?.message}`));
      else resolve(stdout);
    });
  });
  const result = JSON.parse(text) as CruiseResult;
  return {
    files: result.modules.filter((module) => module.source.startsWith('src/')).length,
    violations: result.summary.violations.map(({ from, to, rule }) => ({
      from,
      to,
      rule: rule.name,
      why: comments.get(rule.name) ?? '',
    })),
  };
}

/** Rule -> the file with a wrong import, and what it imports. Files that are imported are made empty beside it. */
const SEEDS: readonly { rule: string; file: string; imports: string; types?: boolean }[] = [
  { rule: 'layer-sdk', file: 'src/sdk/seed.ts', imports: '../scope/index.ts' },
  { rule: 'layer-scope', file: 'src/scope/seed.ts', imports: '../store/index.ts' },
  { rule: 'layer-store', file: 'src/store/seed.ts', imports: '../tool/index.ts', types: true },
  { rule: 'layer-files', file: 'src/files/seed.ts', imports: '../store/index.ts' },
  { rule: 'layer-call', file: 'src/call/seed.ts', imports: '../dataset/index.ts', types: true },
  { rule: 'layer-dataset', file: 'src/dataset/seed.ts', imports: '../call/index.ts' },
  { rule: 'layer-run', file: 'src/run/seed.ts', imports: '../engine/index.ts' },
  { rule: 'layer-report', file: 'src/report/seed.ts', imports: '../governor/index.ts' },
  { rule: 'layer-workspace', file: 'src/workspace/seed.ts', imports: '../cli/index.ts' },
  { rule: 'layer-cli', file: 'src/cli/seed.ts', imports: '../store/index.ts' },
  { rule: 'types-only-governor-tool', file: 'src/governor/seed.ts', imports: '../tool/index.ts' },
  { rule: 'face-only', file: 'src/run/face.ts', imports: '../call/execute.ts' },
  { rule: 'known-room', file: 'src/helpers/seed.ts', imports: '../sdk/index.ts' },
  { rule: 'no-tests-in-src', file: 'src/run/tested.ts', imports: '../../test/seed.ts' },
  { rule: 'owner-of-node-sqlite', file: 'src/store/sqlite/seed.ts', imports: 'node:sqlite' },
  { rule: 'owner-of-undici', file: 'src/run/http.ts', imports: 'undici' },
  { rule: 'owner-of-commander', file: 'src/workspace/args.ts', imports: 'commander' },
  { rule: 'runtime-dependencies-only', file: 'src/tool/dev.ts', imports: 'fast-check' },
  { rule: 'resolvable', file: 'src/tool/lost.ts', imports: './nowhere.ts' },
];

/** What must stay allowed: a rule that catches everything would pass the seeds too. */
const ALLOWED: readonly { file: string; imports: string; types?: boolean }[] = [
  { file: 'src/governor/fine.ts', imports: '../tool/index.ts', types: true },
  { file: 'src/store/sqlite/driver.ts', imports: 'node:sqlite' },
  { file: 'src/tool/fine.ts', imports: 'undici' },
  { file: 'src/report/fine.ts', imports: '../dataset/index.ts' },
  { file: 'src/run/fine.test.ts', imports: '../../test/seed.ts' },
];

async function seedTree(folder: string): Promise<void> {
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  };
  const rooms = ['sdk', 'scope', 'store', 'tool', 'call', 'dataset', 'engine', 'run', 'cli', 'governor'];
  for (const face of [...rooms.map((room) => `src/${room}/index.ts`), 'src/call/execute.ts', 'test/seed.ts'])
    await write(face, 'export const seed = 1;\nexport type Seed = 1;\n');
  await write('src/tool/ring.ts', "import type { B } from './ring-b.ts';\nexport type A = B | 1;\n");
  await write('src/tool/ring-b.ts', "import type { A } from './ring.ts';\nexport type B = A | 2;\n");
  for (const { file, imports, types } of [...SEEDS, ...ALLOWED]) {
    const text = types ? `import type { Seed } from '${imports}';\nexport type Used = Seed;` : `import '${imports}';`;
    await write(file, `${text}\n`);
  }
  for (const file of ['package.json', 'tsconfig.json']) await copyFile(join(ROOT, file), join(folder, file));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}

async function selfTest(): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'callsheet-rooms-'));
  try {
    await seedTree(folder);
    const { violations } = await cruise(folder);
    const missed = [...SEEDS, { rule: 'no-cycles', file: 'src/tool/ring.ts', imports: './ring-b.ts' }].filter(
      // A cycle is reported at any one of its files.
      (seed) =>
        !violations.some(({ rule, from, to }) => rule === seed.rule && (from === seed.file || to === seed.file)),
    );
    const wrong = violations.filter(({ from }) => ALLOWED.some(({ file }) => file === from));
    return [
      ...missed.map((seed) => `${seed.rule} did not catch ${seed.file} importing ${seed.imports}`),
      ...wrong.map(({ rule, from, to }) => `${rule} refused ${from} -> ${to}, which is allowed`),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const [tree, blind] = await Promise.all([cruise(ROOT), selfTest()]);
for (const { from, to, rule, why } of tree.violations) process.stdout.write(`${rule}: ${from} -> ${to}\n    ${why}\n`);
for (const problem of blind) process.stdout.write(`self-test: ${problem}\n`);
process.stdout.write(
  `rooms: ${tree.files} files, ${tree.violations.length} wrong imports, ${SEEDS.length + 1} seeded, ${blind.length} misjudged\n`,
);
process.exitCode = tree.violations.length + blind.length > 0 ? 1 : 0;
