import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { main } from '../../src/cli/main.ts';
import { Terminal, type TextSink } from '../../src/cli/terminal.ts';

export interface Ended {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const BIN = join(import.meta.dirname, '../../src/cli/bin.ts');

/** A new folder with these files. Remove it with `removeFolder`. */
export function newFolder(files: Readonly<Record<string, string>> = {}): string {
  const dir = mkdtempSync(join(tmpdir(), 'callsheet-cli-'));
  addFiles(dir, files);
  return dir;
}

export function addFiles(dir: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
}

export function removeFolder(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
}

/** The environment of a user whose home is the folder itself. */
export function environment(dir: string): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: join(dir, 'home'), NO_COLOR: '1' };
}

/** A real process of the command line. */
export function begin(dir: string, args: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [BIN, ...args], { cwd: dir, env: environment(dir), stdio: 'pipe' });
  child.stdin?.end();
  const text = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    text.stdout += piece;
  });
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    text.stderr += piece;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit) => resolve({ exit, ...text }));
  });
  return { child, ended };
}

export function callsheet(dir: string, ...args: string[]): Promise<Ended> {
  return begin(dir, args).ended;
}

/** The same command within this process: as quick as it can be. Pipes everywhere, so nobody is asked. */
export async function typed(
  dir: string,
  args: readonly string[],
  { stdin = '', env = {} }: { readonly stdin?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ended> {
  const text = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof text): TextSink => ({
    write: (piece) => {
      text[name] += piece;
      return true;
    },
    once: () => undefined,
  });
  const input = {
    async *[Symbol.asyncIterator]() {
      yield stdin;
    },
  };
  const terminal = new Terminal({
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    stdin: input,
    env: { ...environment(dir), ...env },
    cwd: dir,
    json: args.includes('--json'),
  });
  const { exit } = await main(args, terminal);
  return { exit, ...text };
}

/** The one document on stdout. */
export function documentOf<Document>({ stdout }: Ended): Document {
  return JSON.parse(stdout) as Document;
}
