/**
 * What a user gets: the packed tarball, judged by publint and attw, installed into an empty folder, and run there by the
 * oldest Node.js that package.json admits.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

interface Published {
  readonly version: string;
  readonly engines: { readonly node: string };
}

interface Run {
  readonly ok: boolean;
  readonly output: string;
  readonly stdout: string;
}

function run(command: string, args: readonly string[], cwd: string): Promise<Run> {
  return new Promise((resolve) => {
    execFile(command, [...args], { cwd, maxBuffer: 1 << 26, timeout: 300_000 }, (error, stdout, stderr) =>
      resolve({ ok: error === null, output: `${stdout}${stderr}`, stdout }),
    );
  });
}

class StepFailed extends Error {}

async function must(what: string, command: string, args: readonly string[], options: { cwd: string }): Promise<string> {
  const { ok, output, stdout } = await run(command, args, options.cwd);
  if (!ok) throw new StepFailed(`${what} failed:\n${output}`);
  process.stdout.write(`ok: ${what}\n`);
  return stdout;
}

/** Files that have no business in the tarball. */
const UNWANTED = /\.(test|type-test)\.(js|d\.ts)$|conformance|^(src|test|bench|scripts)\//;

async function pack(folder: string): Promise<string> {
  const text = await must('npm pack', 'npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
  });
  // An array by older npm, an object by package name by newer.
  const packed = Object.values(JSON.parse(text) as Record<string, { filename: string; files: { path: string }[] }>)[0];
  if (packed === undefined) throw new StepFailed('npm pack named no tarball');
  const unwanted = packed.files.map((file) => file.path).filter((path) => UNWANTED.test(path));
  if (unwanted.length > 0) throw new StepFailed(`The tarball holds ${unwanted.join(', ')}`);
  return join(folder, packed.filename);
}

async function installAndRun(tarball: string, folder: string): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await must('install into an empty folder', 'npm', ['install', tarball, ...flags], { cwd: folder });
  const script = "const sdk = await import('callsheet'); console.log(typeof sdk.definePlay, typeof sdk.defineTool)";
  const types = await must('import callsheet', process.execPath, ['-e', script], { cwd: folder });
  if (types.trim() !== 'function function') throw new StepFailed(`import('callsheet') gave ${types}`);
  const { version, engines } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Published;
  const said = await must('npx callsheet --version', 'npx', ['--no-install', 'callsheet', '--version'], {
    cwd: folder,
  });
  if (!said.includes(version)) throw new StepFailed(`callsheet --version said '${said.trim()}' instead of ${version}`);
  await runOnOldest(engines.node, folder);
}

/** The first run of a user: `init` and its play, whose calls go over HTTP to the sandbox. */
async function runOnOldest(admitted: string, folder: string): Promise<void> {
  const oldest = /^>=(\d+)\.(\d+)$/.exec(admitted);
  if (oldest === null) throw new StepFailed(`engines.node is '${admitted}', and not '>=<major>.<minor>'`);
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const version = `${oldest[1]}.${oldest[2]}.0`;
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', '--no-save'];
  await must(`install Node.js ${version}`, 'npm', ['install', `${name}@${version}`, ...flags], { cwd: folder });
  const node = join(folder, 'node_modules', name, 'bin', 'node');
  const callsheet = (...args: string[]): Promise<string> => {
    const bin = join(folder, 'node_modules/callsheet/dist/cli/bin.js');
    return must(`callsheet ${args[0]} on Node.js ${version}`, node, [bin, ...args], { cwd: folder });
  };
  await callsheet('init');
  const said = await callsheet('run', 'find-email.play.ts', '--csv', 'leads.csv', '-o', 'out.csv', '--yes', '--json');
  const { calls } = JSON.parse(said) as { calls: { live: number; failed: number } };
  if (calls.live === 0 || calls.failed > 0) throw new StepFailed(`Of ${calls.live} calls ${calls.failed} failed`);
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'callsheet-package-'));
  const bin = (path: string): string => join(ROOT, 'node_modules', path);
  try {
    await must('build', process.execPath, ['scripts/build.ts'], { cwd: ROOT });
    const tarball = await pack(folder);
    await must('publint', process.execPath, [bin('publint/src/cli.js'), tarball, '--strict'], { cwd: ROOT });
    const attw = [bin('@arethetypeswrong/cli/dist/index.js'), tarball, '--profile', 'esm-only', '--no-emoji'];
    await must('are the types wrong', process.execPath, attw, { cwd: ROOT });
    if (!existsSync(join(ROOT, 'src/cli/bin.ts'))) {
      process.stdout.write('package: packed and checked; not installed, since src/cli/bin.ts does not exist yet\n');
      return;
    }
    await installAndRun(tarball, folder);
    process.stdout.write('package: packed, checked, installed and run\n');
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    process.stdout.write(`${error.message}\npackage: not fit to publish\n`);
    process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
