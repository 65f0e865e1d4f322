import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { machineFolder } from './folders.ts';

const BIN = join(import.meta.dirname, '../../../src/cli/bin.ts');

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is started, when that is not the workspace. */
  readonly cwd?: string;
  /** Without root's power over permissions, where the tests have it. */
  readonly unprivileged?: boolean;
  /** The largest file that it may write, in KiB (`ulimit -f`). */
  readonly largestFileKib?: number;
}

export interface Ended {
  readonly exit: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliProcess {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** The first line on stdout; rejects where there is none. */
  readonly firstLine: Promise<string>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves once stderr holds this text; rejects where the process ends without it. */
  says(text: string): Promise<void>;
}

const children = new Set<ChildProcess>();

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts the product's command line as a process of its own in a workspace folder, with nothing of the tests' environment. */
export function startCli(dir: string, args: readonly string[], options: CliOptions = {}): CliProcess {
  const command = [process.execPath, BIN, ...args];
  const limited =
    options.largestFileKib === undefined
      ? command
      : ['bash', '-c', `ulimit -f ${options.largestFileKib}; exec "$@"`, 'bash', ...command];
  const [file = '', ...rest] = limited;
  const home = machineFolder('home');
  const child = spawn(file, rest, {
    cwd: options.cwd ?? dir,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      XDG_CONFIG_HOME: join(home, '.config'),
      // A process start costs a third of what it does without; it holds compiled code only.
      NODE_COMPILE_CACHE: machineFolder('compile-cache'),
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.unprivileged === true && process.getuid?.() === 0 && { uid: 65_534, gid: 65_534 }),
  });
  children.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const listeners = new Set<() => void>();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const listener of listeners) listener();
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exit, signal) => {
      children.delete(child);
      resolve({ exit, signal, stdout, stderr });
    });
  });
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const [line = '', ...rest] = stdout.split('\n');
      if (rest.length > 0) resolve(line);
    });
    void ended.then(() => reject(new Error(`the process ended without a line on stdout:\n${stderr}`)));
  });
  // Most processes are not asked for it.
  firstLine.catch(() => {});
  const says = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!stderr.includes(text)) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
      void ended.then(() => reject(new Error(`the process ended without saying '${text}':\n${stderr}`)));
    });
  return { pid: child.pid ?? -1, ended, firstLine, kill: (signal) => void child.kill(signal), says };
}

/** Runs a command to its end. */
export function cli(dir: string, args: readonly string[], options: CliOptions = {}): Promise<Ended> {
  return startCli(dir, args, options).ended;
}

// biome-ignore lint/suspicious/noExplicitAny: every command has a document of its own
export type Json = any;

/** What a `--json` command printed: one JSON document and nothing else, or this throws. */
export function jsonOf(ended: Ended): Json {
  try {
    return JSON.parse(ended.stdout);
  } catch (error) {
    throw new Error(
      `stdout is not one JSON document (${String(error)}); exit ${ended.exit ?? ended.signal}\n--- stdout\n${ended.stdout}\n--- stderr\n${ended.stderr}`,
    );
  }
}

/** Runs a command with `--json` and expects this exit code. */
export async function cliJson(
  dir: string,
  args: readonly string[],
  { exit = 0, ...options }: CliOptions & { readonly exit?: number } = {},
): Promise<Json> {
  const ended = await cli(dir, [...args, '--json'], options);
  const document = jsonOf(ended);
  if (ended.exit !== exit)
    throw new Error(
      `exit ${ended.exit ?? ended.signal}, not ${exit}: callsheet ${args.join(' ')}\n${ended.stdout}\n${ended.stderr}`,
    );
  return document;
}
