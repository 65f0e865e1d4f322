/**
 * `npm run mutate`: for each mutation of scripts/mutations.ts, changes that one line of src in a copy of the project and
 * runs the tests that name the promises it breaks. A mutation that all of them survive is a test that is missing.
 *
 *   npm run mutate                       all
 *   npm run mutate -- call/intent        those whose file or promise contains a word
 *   npm run mutate -- --list             which promises have no mutation
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { REQUIREMENTS } from '../test/requirements-data.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';
import { requirementCoverage } from './requirement-coverage.ts';
import { sourceFiles } from './source-files.ts';

const ROOT = join(import.meta.dirname, '..');
const COPIED = [
  'src',
  'test',
  'scripts',
  'bench',
  'examples',
  'docs',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];
const WORKERS = 2;

type Verdict = 'killed' | 'survived' | 'stale' | 'red before';

interface Tests {
  readonly files: readonly string[];
  readonly pattern: string;
}

/** A copy of the project in which one mutation at a time is tried. */
class Bench {
  readonly #dir = mkdtempSync(join(tmpdir(), 'callsheet-mutate-'));

  constructor() {
    for (const name of COPIED) cpSync(join(ROOT, name), join(this.#dir, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.#dir, 'node_modules'));
  }

  async try(mutation: Mutation, tests: Tests): Promise<Verdict> {
    const file = join(this.#dir, 'src', mutation.file);
    const before = readFileSync(file, 'utf8');
    if (before.split(mutation.from).length !== 2) return 'stale';
    // Tests that fail without it say nothing.
    if (!(await this.#passes(tests))) return 'red before';
    writeFileSync(
      file,
      before.replace(mutation.from, () => mutation.to),
    );
    try {
      return (await this.#passes(tests)) ? 'survived' : 'killed';
    } finally {
      writeFileSync(file, before);
    }
  }

  async #passes({ files, pattern }: Tests): Promise<boolean> {
    const child = spawn(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', 'run', ...files, '-t', pattern, '--bail', '1', '--maxWorkers', '1'],
      { cwd: this.#dir, stdio: 'ignore', env: { ...process.env, NO_COLOR: '1' } },
    );
    const limit = setTimeout(() => child.kill('SIGKILL'), 240_000);
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    clearTimeout(limit);
    return code === 0;
  }

  close(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

const sources = sourceFiles(['src', 'test'])
  .map((file) => ({ path: relative(ROOT, file), text: readFileSync(file, 'utf8') }))
  .filter(({ path }) => !path.startsWith('test/requirements'));
const ids = Object.keys(REQUIREMENTS);
const { claims } = requirementCoverage(sources, { required: ids, later: [] });

function testsOf({ breaks }: Mutation): Tests {
  const files = new Set(claims.filter((claim) => breaks.includes(claim.id as never)).map(({ file }) => file));
  return { files: [...files], pattern: breaks.map((id) => `\\[[^\\]]*${id}[,\\]]`).join('|') };
}

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
if (process.argv.includes('--list')) {
  const guarded = new Set<string>(MUTATIONS.flatMap(({ breaks }) => [...breaks]));
  for (const id of ids) if (!guarded.has(id)) process.stdout.write(`no mutation: ${id}\n`);
  process.exit();
}
const wanted = MUTATIONS.filter(
  ({ file, breaks }) => words.length === 0 || words.some((word) => file.includes(word) || breaks.join().includes(word)),
);
const verdicts = new Map<Mutation, Verdict>();
const waiting = [...wanted];
await Promise.all(
  Array.from({ length: Math.min(WORKERS, wanted.length) }, async () => {
    const bench = new Bench();
    try {
      for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
        const verdict = await bench.try(mutation, testsOf(mutation));
        verdicts.set(mutation, verdict);
        if (verdict !== 'killed')
          process.stdout.write(`${verdict.padEnd(10)} ${mutation.breaks.join()} ${mutation.file}: ${mutation.why}\n`);
      }
    } finally {
      bench.close();
    }
  }),
);
const killed = [...verdicts.values()].filter((verdict) => verdict === 'killed').length;
const untouched = ids.filter((id) => !MUTATIONS.some(({ breaks }) => breaks.includes(id as never))).length;
process.stdout.write(
  `mutations: ${killed} of ${wanted.length} killed, ${wanted.length - killed} not; ${untouched} of ${ids.length} promises have none\n`,
);
process.exitCode = killed === wanted.length ? 0 : 1;
