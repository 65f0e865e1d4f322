import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const PROBES = join(import.meta.dirname, 'probes');
/** As deep below the root as the package's own files are: they look for package.json from where they lie. */
const BUILT = join(import.meta.dirname, 'built');

/** Compiles the probes, so that what is measured is JavaScript as it is published, without what strips types. */
export async function buildProbes(): Promise<void> {
  await build({
    entryPoints: readdirSync(PROBES).map((file) => join(PROBES, file)),
    outdir: BUILT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
}

/** Starts `bench/probes/<name>.ts` in a process of its own; its one argument is JSON. */
export function startProbe(name: string, options: object, flags: readonly string[] = []): ChildProcess {
  const script = join(BUILT, `${name}.mjs`);
  return spawn(process.execPath, [...flags, script, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] });
}

/** Runs a probe to its end: the JSON that it printed. */
export async function runProbe<Result>(name: string, options: object, flags: readonly string[] = []): Promise<Result> {
  const child = startProbe(name, options, flags);
  let text = '';
  child.stdout?.on('data', (chunk) => {
    text += String(chunk);
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`bench/probes/${name}.ts ended with ${code ?? signal}.`);
  return JSON.parse(text) as Result;
}

/** Runs a probe that is to die by SIGKILL. */
export async function runKilled(name: string, options: object): Promise<void> {
  const [code, signal] = await once(startProbe(name, options), 'close');
  if (signal !== 'SIGKILL') throw new Error(`bench/probes/${name}.ts ended with ${code ?? signal} instead of SIGKILL.`);
}

/** In a probe: its options. */
export function probeOptions<Options>(): Options {
  return JSON.parse(process.argv[2] ?? '{}') as Options;
}

/** In a probe: its answer. */
export function tell(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
