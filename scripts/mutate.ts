/**
 * `npm run mutate`: for each mutation of scripts/mutations.ts, changes that one line of src in a copy of the project and
 * runs the tests that name the promises it breaks. A mutation that all of them survive is a test that is missing. Those tests
 * run once without any mutation before; of tests with many processes only what no quicker one names.
 *
 *   npm run mutate                       all
 *   npm run mutate -- call/intent        those whose file or promise contains a word
 *   npm run mutate -- --list             which promises have no mutation, and which mutations fit no line any more
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { REQUIREMENTS } from '../test/requirements-data.ts';
import type { Mutation } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';
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
/** Tests that start many processes: left out where others name the same promise. */
const SLOW = /^test\/(chaos|e2e)\//;
/** A run of tests that takes longer hangs because of its mutation (ms). */
const LIMIT_MS = 120_000;
const CLEAN_LIMIT_MS = 1_200_000;

type Verdict = 'killed' | 'survived' | 'stale' | 'red before';

/** Test files and the ids that the names of their tests begin with. */
interface Tests {
  readonly files: readonly string[];
  readonly ids: readonly string[];
}

/** A test that ran, as vitest's JSON has it. */
interface Ran {
  readonly title: string;
  readonly status: string;
}

/** A copy of the project in which one mutation at a time is tried. */
class Bench {
  readonly #dir = mkdtempSync(join(tmpdir(), 'mutation-bench-'));
  /** What vitest has said last. */
  readonly #said = join(this.#dir, 'said.txt');

  constructor() {
    for (const name of COPIED) cpSync(join(ROOT, name), join(this.#dir, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.#dir, 'node_modules'));
  }

  /** Which of these promises have tests that pass while nothing is mutated; others say nothing. */
  async green(tests: Tests): Promise<ReadonlySet<string>> {
    const told = join(this.#dir, 'clean.json');
    await this.#passes(
      tests,
      ['--reporter', 'json', '--outputFile', told, '--maxWorkers', `${WORKERS}`],
      CLEAN_LIMIT_MS,
    );
    if (!existsSync(told)) throw new Error(`the tests did not run: ${readFileSync(this.#said, 'utf8').slice(-2_000)}`);
    const files = JSON.parse(readFileSync(told, 'utf8')) as {
      testResults: { message: string; assertionResults: Ran[] }[];
    };
    for (const { message } of files.testResults)
      if (message !== '') process.stdout.write(`${message.slice(0, 2_000)}\n`);
    const ran = files.testResults.flatMap(({ assertionResults }) => assertionResults);
    return new Set(
      tests.ids.filter((id) => {
        const own = ran.filter(({ title, status }) => isNamed(id).test(title) && /^(passed|failed)$/.test(status));
        return own.length > 0 && own.every(({ status }) => status === 'passed');
      }),
    );
  }

  async try(mutation: Mutation, tests: Tests): Promise<Verdict> {
    const file = join(this.#dir, 'src', mutation.file);
    const before = readFileSync(file, 'utf8');
    if (!isFitting(before, mutation.from)) return 'stale';
    writeFileSync(
      file,
      before.replace(mutation.from, () => mutation.to),
    );
    try {
      return (await this.#passes(tests, ['--bail', '1', '--maxWorkers', '1'], LIMIT_MS)) ? 'survived' : 'killed';
    } finally {
      writeFileSync(file, before);
    }
  }

  async #passes({ files, ids }: Tests, how: readonly string[], limitMs: number): Promise<boolean> {
    const pattern = ids.map((id) => isNamed(id).source).join('|');
    const said = openSync(this.#said, 'w');
    const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...files, '-t', pattern, ...how], {
      cwd: this.#dir,
      stdio: ['ignore', said, said],
      env: { ...process.env, NO_COLOR: '1' },
    });
    closeSync(said);
    const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    clearTimeout(limit);
    return code === 0;
  }

  close(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** True where a text is in a file exactly once. */
function isFitting(file: string, text: string): boolean {
  return file.split(text).length === 2;
}

/** The name of a test that stands for a promise. */
function isNamed(id: string): RegExp {
  return new RegExp(`\\[([^\\]]*, )?${id}[,\\]]`);
}

const sources = sourceFiles(['src', 'test'])
  .map((file) => ({ path: relative(ROOT, file), text: readFileSync(file, 'utf8') }))
  .filter(({ path }) => !path.startsWith('test/requirements'));
const ids = Object.keys(REQUIREMENTS);
const { claims } = requirementCoverage(sources, { required: ids, later: [] });

/** The test files in which what a file claims is run: itself, or those that import the suite that it is a part of. */
function runIn(file: string): readonly string[] {
  if (file.endsWith('.test.ts')) return [file];
  return sources.filter((source) => isImportedBy(source, file)).flatMap(({ path }) => runIn(path));
}

function isImportedBy({ path, text }: { readonly path: string; readonly text: string }, file: string): boolean {
  const paths = [...text.matchAll(/ from '(\.[^']+)'/g)].map(([, to = '']) => join(dirname(path), to));
  return paths.includes(file);
}

const filesOf = new Map<string, readonly string[]>();
for (const id of ids) {
  const all = new Set(claims.filter((claim) => claim.id === id).flatMap(({ file }) => runIn(file)));
  const quick = [...all].filter((file) => !SLOW.test(file));
  filesOf.set(id, quick.length > 0 ? quick : [...all]);
}

function testsOf(mutations: readonly Mutation[]): Tests {
  const broken = [...new Set(mutations.flatMap(({ breaks }) => [...breaks]))];
  return { files: [...new Set(broken.flatMap((id) => filesOf.get(id) ?? []))], ids: broken };
}

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
if (process.argv.includes('--list')) {
  const guarded = new Set<string>(MUTATIONS.flatMap(({ breaks }) => [...breaks]));
  for (const id of ids) if (!guarded.has(id)) process.stdout.write(`no mutation: ${id}\n`);
  for (const { breaks, file, from } of MUTATIONS)
    if (!isFitting(readFileSync(join(ROOT, 'src', file), 'utf8'), from))
      process.stdout.write(`stale: ${breaks.join()} ${file}: ${JSON.stringify(from)}\n`);
  process.exit();
}
const wanted = MUTATIONS.filter(
  ({ file, breaks }) => words.length === 0 || words.some((word) => file.includes(word) || breaks.join().includes(word)),
);
const benches = Array.from({ length: Math.min(WORKERS, wanted.length) }, () => new Bench());
const verdicts = new Map<Mutation, Verdict>();
try {
  const green = (await benches[0]?.green(testsOf(wanted))) ?? new Set<string>();
  const waiting = [...wanted];
  await Promise.all(
    benches.map(async (bench) => {
      for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
        const isTold = mutation.breaks.every((id) => green.has(id));
        const verdict = isTold ? await bench.try(mutation, testsOf([mutation])) : 'red before';
        verdicts.set(mutation, verdict);
        if (verdict !== 'killed')
          process.stdout.write(`${verdict.padEnd(10)} ${mutation.breaks.join()} ${mutation.file}: ${mutation.why}\n`);
      }
    }),
  );
} finally {
  for (const bench of benches) bench.close();
}
const killed = [...verdicts.values()].filter((verdict) => verdict === 'killed').length;
const untouched = ids.filter((id) => !MUTATIONS.some(({ breaks }) => breaks.includes(id as never))).length;
process.stdout.write(
  `mutations: ${killed} of ${wanted.length} killed, ${wanted.length - killed} not; ${untouched} of ${ids.length} promises have none\n`,
);
process.exitCode = killed === wanted.length ? 0 : 1;
